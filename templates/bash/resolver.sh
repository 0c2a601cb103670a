#!/usr/bin/env bash
# A whole resolver in bash alone: a form, a question, a message, stop, pause and resume. No jq: the few values it needs
# are cut out of the host's lines, which are always written without spaces around their punctuation.
set -u
export LC_ALL=C # lengths and cuts count bytes

exec 3>&1 1>&2 # 3 is the channel; whatever prints goes to stderr

dir=${RESOLVE_DIR:-.resolve}
instance_id='' started='' finished='' phase='' last_message=0 notes=0

field='{"type":"text","id":"colour","label":"Colour","checks":[{"condition":{"call":"required","args":[{"path":"/colour"}]},"message":"Colour is required"}]}'
question_form='{"type":"form","components":['$field']}'
params_form='{"type":"form","components":[{"type":"text","id":"thing","label":"Thing","placeholder":"shed"}]}'
note_type='{"name":"note","label":"Note","description":"Is counted","schema":{"type":"form","components":[{"type":"text","id":"text","label":"Text"}]}}'

send() { printf '%s\n' "$1" >&3; }

reply() { send '{"jsonrpc":"2.0","id":'"$id"',"result":'"$1"'}'; }

# A string value as it stands in the JSON, still escaped: it can go into other JSON as it is.
string_of() {
  local pattern='"'$2'"[[:space:]]*:[[:space:]]*"(([^"\\]|\\.)*)"'
  [[ $1 =~ $pattern ]] && printf '%s' "${BASH_REMATCH[1]}"
}

manifest=$(cat "$(dirname "$0")/manifest.json")
name=$(string_of "$manifest" name) # its events begin with it
version=$(string_of "$manifest" version)

emit() {
  printf '{"schema_version":1,"event_type":"%s","instance_id":"%s","data":%s,"timestamp":"%s"}\n' \
    "$1" "$instance_id" "$2" "$(date -u +%Y-%m-%dT%H:%M:%S.000Z)" >>"$dir/events.jsonl"
  send '{"jsonrpc":"2.0","method":"resolver.event","params":{"offset":'"$(wc -c <"$dir/events.jsonl")"'}}'
}

# Replaces a file whole: never let a reader see half of it.
write() {
  mkdir -p "$(dirname "$dir/$1")"
  printf '%s\n' "$2" >"$dir/$1.tmp" && mv -f "$dir/$1.tmp" "$dir/$1"
}

# finish STATUS OUTPUT ERROR-OBJECT: every way out ends here.
finish() {
  [[ -n $finished ]] && return
  finished=yes
  local outcome=success error=''
  [[ -n $3 ]] && outcome=failed error=',"error":'$3
  emit resolver:completed '{"outcome":"'$outcome'","summary":"'"$2"'","duration_s":'$SECONDS',"artifact_count":0'"$error"'}'
  local result='{"status":"'$1'","output":"'$2'","error":null,"sessions_used":0}'
  write status.json "$result" # first the file, then the news of it
  send '{"jsonrpc":"2.0","method":"resolver.finished","params":{"result":'"$result"'}}'
}

paint() {
  local colour
  colour=$(string_of "$(cat "$dir/input-requests/colour.response.json")" colour)
  finish completed "Painted the $thing $colour, with $notes notes" ''
}

run() {
  [[ -n $started ]] && return # a new host may call run again
  started=yes
  thing=$(string_of "$(cat "$dir/config.json")" thing)
  thing=${thing:-shed}
  if [[ $line == *'"resume":true'* ]]; then
    [[ -e $dir/checkpoint.txt ]] && read -r notes <"$dir/checkpoint.txt"
  else
    # The events file is kept as it is: of the params, name only those that are not in secret_fields of the config.
    emit resolver:created '{"resolver_name":"'"$name"'","resolver_version":"'"$version"'","instance_id":"'"$instance_id"'","params":{"thing":"'"$thing"'"},"capabilities_granted":[]}'
  fi
  if [[ -e $dir/input-requests/colour.response.json ]]; then
    paint
    return
  fi
  write state.json '{"phase":"asking"}'
  emit resolver:phase '{"name":"asking"}'
  write input-requests/colour.json '{"id":"colour","prompt":"Which colour?","schema":'"$question_form"',"status":"pending"}'
  emit "$name.asked" '{"request_id":"colour"}'
}

stop() {
  [[ -z $started || -n $finished ]] && return
  local reason
  reason=$(string_of "$line" reason)
  case $reason in
    pause_requested | lifetime_exceeded)
      printf '%s\n' "$notes" >"$dir/checkpoint.txt"
      finish paused 'paused at the question' ''
      ;;
    *) finish cancelled cancelled '{"code":"cancelled","detail":"'"$reason"'"}' ;;
  esac
}

message() {
  [[ $line =~ \"number\":([0-9]+) ]] || return
  ((BASH_REMATCH[1] <= last_message)) && return # a new host may send it again
  last_message=${BASH_REMATCH[1]}
  notes=$((notes + 1))
  emit "$name.noted" '{"number":'"$last_message"'}'
}

id_pattern='"id":("[^"]*"|[0-9]+)'
method_pattern='"method":"(resolver\.[A-Za-z]+)"'

while IFS= read -r line; do
  [[ $line =~ $method_pattern ]] || continue
  method=${BASH_REMATCH[1]}
  [[ $method == resolver.shutdown ]] && exit 0
  [[ $line =~ $id_pattern ]] && id=${BASH_REMATCH[1]} || continue
  case $method in
    resolver.initialize)
      instance_id=$(string_of "$line" instance_id)
      reply '{"status":"ready"}'
      ;;
    resolver.run) reply '{"status":"started"}' && run ;;
    resolver.stop) reply '{"acknowledged":true}' && stop ;;
    resolver.inputResponse) reply null && [[ -n $started && -z $finished ]] && paint ;;
    resolver.message) reply null && message ;;
    resolver.getInstantiationSchema) reply "$params_form" ;;
    resolver.getWorkspaceSpec) reply null ;;
    resolver.getMessageTypes) reply "[$note_type]" ;;
    *) send '{"jsonrpc":"2.0","id":'"$id"',"error":{"code":-32601,"message":"There is no such method"}}' ;;
  esac
done

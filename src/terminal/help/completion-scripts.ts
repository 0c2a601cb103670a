/**
 * The completion scripts of the shells. On TAB a script passes the words up to the cursor to `resolve __complete` and reads one
 * suggestion a line, `word TAB description`. The single line `:files` asks the shell to complete file names.
 */

export const SHELLS = ['bash', 'zsh', 'fish'] as const

export const COMPLETION_SCRIPTS: Readonly<Record<(typeof SHELLS)[number], string>> = {
  bash: `# Completes the words of resolve in bash 3.2 and later: source <(resolve completion bash)
_resolve_complete() {
  local line suggestions
  COMPREPLY=()
  suggestions="$("\${COMP_WORDS[0]}" __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)" || return 0
  if [ "$suggestions" = ":files" ]; then
    compopt -o filenames 2>/dev/null
    while IFS= read -r line; do
      [ -n "$line" ] && COMPREPLY+=("$line")
    done <<< "$(compgen -f -- "\${COMP_WORDS[COMP_CWORD]}")"
    return 0
  fi
  while IFS= read -r line; do
    [ -n "$line" ] && COMPREPLY+=("\${line%%$'\\t'*}")
  done <<< "$suggestions"
  # A value follows the field.
  case "\${COMPREPLY[0]-}" in *=) compopt -o nospace 2>/dev/null ;; esac
  return 0
}
complete -F _resolve_complete resolve
`,
  zsh: `#compdef resolve
# Completes the words of resolve in zsh: source <(resolve completion zsh), after compinit
_resolve() {
  local line
  local -a lines described fields
  lines=("\${(@f)$("\${words[1]}" __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ "\${lines[1]}" == ":files" ]]; then
    _files
    return
  fi
  for line in "\${lines[@]}"; do
    [[ "\${line%%$'\\t'*}" == *= ]] && fields+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}") && continue
    [[ -n "$line" ]] && described+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  (( \${#fields} )) && _describe -V resolve fields -S ''
  (( \${#described} )) && _describe -V resolve described
}
if [[ "\${funcstack[1]}" == "_resolve" ]]; then
  _resolve "$@"
else
  compdef _resolve resolve
fi
`,
  fish: `# Completes the words of resolve in fish: resolve completion fish | source
function __resolve_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    set -e words[1]
    set -l suggestions (resolve __complete -- $words "$typed" 2>/dev/null)
    if test "$suggestions[1]" = ":files"
        __fish_complete_path "$typed"
    else
        printf '%s\\n' $suggestions
    end
end
complete -c resolve -f -a '(__resolve_complete)'
`,
}

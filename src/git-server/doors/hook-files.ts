/**
 * The hooks of all repositories. Git runs them within a push; they only pass on what git tells them to the server over file descriptor
 * 3, and print its answer. So a push starts no second Node, and the rules are in one place.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const HOOK = `#!/bin/sh
# Passes a push on to the git server, which decides.
set -f
{
  printf 'hook %s\\n' "\${0##*/}"
  at=0
  while [ "$at" -lt "\${GIT_PUSH_OPTION_COUNT:-0}" ]; do
    eval "option=\\$GIT_PUSH_OPTION_$at"
    printf 'option %s\\n' "$option"
    at=$((at + 1))
  done
  while read -r from to ref; do printf 'ref %s %s %s\\n' "$from" "$to" "$ref"; done
  echo end
} >&3
while IFS= read -r line <&3; do
  case $line in
  'say '*) printf '%s\\n' "\${line#say }" >&2 ;;
  'exit '*) exit "\${line#exit }" ;;
  esac
done
echo 'The git server ended.' >&2
exit 1
`

/** Returns the directory for `core.hooksPath`. */
export function writeHooks(state: string): string {
  const directory = join(state, 'hooks')
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  for (const name of ['pre-receive', 'post-receive']) writeFileSync(join(directory, name), HOOK, { mode: 0o700 })
  return directory
}

/** The view for GitHub Actions: plain lines on stderr, folded into one group per phase. Chosen by open-view.ts. */
import { progressLine } from '../../core/view/event-words.ts'
import { workflowCommand } from '../output/github-commands.ts'
import type { Output } from '../output/output.ts'
import { noteConnection, type View } from './view.ts'

export function githubView(output: Output): View {
  let open = false
  const close = () => {
    if (open) output.command(workflowCommand('endgroup', ''))
    open = false
  }
  const nothing = () => Promise.resolve()
  return {
    event({ event }) {
      const line = progressLine(event)
      if (line === null || output.quiet) return
      if (event.event_type === 'resolver:phase') {
        close()
        output.command(workflowCommand('group', line))
        open = true
        return
      }
      // Groups contain the events of a phase; a change of status must be visible without opening a group.
      if (event.event_type === 'platform.instance.status_changed') close()
      output.note(line)
    },
    note: (line) => output.note(line),
    connection: noteConnection(output),
    hide: nothing,
    show: nothing,
    end() {
      close()
      return Promise.resolve()
    },
  }
}

/** `resolve completion`: prints the script that completes commands, flags, names and ids in a shell. */
import * as Args from '@oclif/core/args'
import { type ArgsOf, BaseCommand, type FlagsOf } from '../terminal/command/base-command.ts'
import { COMPLETION_SCRIPTS, SHELLS } from '../terminal/help/completion-scripts.ts'

export default class Completion extends BaseCommand<typeof Completion> {
  static override summary = 'Print the script that completes words in a shell'
  static override description = `It completes commands, flags, resolvers, instances, open questions and message types.
  bash  echo 'source <(resolve completion bash)' >> ~/.bashrc
  zsh   echo 'source <(resolve completion zsh)' >> ~/.zshrc   (after compinit)
  fish  resolve completion fish > ~/.config/fish/completions/resolve.fish`
  static override examples = [
    'resolve completion bash',
    'resolve completion fish > ~/.config/fish/completions/resolve.fish',
  ]
  static override place = 'always here' as const
  static override args = {
    shell: Args.string({ required: true, options: [...SHELLS], description: SHELLS.join(', ') }),
  }

  declare protected flags: FlagsOf<typeof Completion>
  declare protected args: ArgsOf<typeof Completion>

  protected async act(): Promise<number> {
    const { shell } = this.args
    const script = COMPLETION_SCRIPTS[shell as keyof typeof COMPLETION_SCRIPTS]
    if (this.output.json) await this.output.document({ schema: 'resolve.completion/1', shell, script })
    else await this.output.raw(script)
    return 0
  }
}

/** A resolver as a class, with every one of the twelve members; each call of a member becomes an event. */
import {
  type ContainerSetup,
  type Emitter,
  type Form,
  form,
  type InstanceConfig,
  type MessageType,
  type Payload,
  Resolver,
  type ResolverResult,
  type SessionFactory,
  text,
  type WorkspaceSpec,
} from '../../../src/sdk/index.ts'

class TwelveMembers extends Resolver {
  override readonly name = 'twelve-members'
  override readonly version = '0.1.0'
  override readonly description = 'Has every member of the contract'
  override readonly supportsResume = true
  #stopped = ''

  override instantiationSchema(params: Payload | null): Form {
    return form({ first: text({ label: params === null ? 'Nothing yet' : 'Something' }) })
  }

  override workspaceSpec(params: Payload, availableCredentials: readonly string[]): WorkspaceSpec {
    const url = `https://example.test/${String(params['first'])}?${availableCredentials.join()}`
    return { repos: [{ url, branch: 'main' }], git_server: true, working_branch: 'work' }
  }

  override containerSetup(): ContainerSetup {
    return { setup_commands: ['true'], bundles: [], environment: { A: 'b' }, volume_mounts: [] }
  }

  override messageTypes(state: Record<string, unknown>): MessageType[] {
    return [{ name: 'note', label: 'Note', description: String(state['phase']), schema: form({}) }]
  }

  override async run(config: InstanceConfig, sessions: SessionFactory, emitter: Emitter, resume: boolean) {
    const missing = await sessions.create('writer').catch((error: Error) => error.message)
    emitter.emit('ran', { instance: config.instance_id, resume, missing })
    this.mergeState({ phase: 'asking' })
    const { word } = await this.requestInput('word', 'Which word?', form({ word: text({ label: 'Word' }) }))
    if (word === 'wait') await new Promise<void>((resolve) => this.signal.addEventListener('abort', () => resolve()))
    const status = this.#stopped === 'pause_requested' ? 'paused' : 'completed'
    const result: ResolverResult = { status, output: String(word), sessions_used: 2 }
    return result
  }

  override onInputResponse(_config: InstanceConfig, requestId: string, payload: Payload): void {
    this.emit('answered', { requestId, payload })
  }

  override onMessage(_config: InstanceConfig, messageType: string, payload: Payload): void {
    this.emit('told', { messageType, payload })
  }

  override async stop(reason: string): Promise<void> {
    this.#stopped = reason
    await new Promise((resolve) => setTimeout(resolve, 50))
    this.checkpoint.save({ reason })
  }
}

new TwelveMembers().serve()

/** A resolver that asks once, never awaits the future of its question and ends with what its callback is given. */
import { form, type InstanceConfig, type Payload, Resolver, text } from '../../../src/sdk/index.ts'

class AnswersByCallback extends Resolver {
  override readonly name = 'answers-by-callback'
  override readonly version = '0.1.0'
  override readonly description = 'Takes its answer by the callback'
  readonly #answered = Promise.withResolvers<Payload>()

  override async run() {
    void this.requestInput('word', 'Which word?', form({ word: text({ label: 'Word' }) }))
    const { word } = await this.#answered.promise
    return { status: 'completed' as const, output: String(word) }
  }

  override onInputResponse(_config: InstanceConfig, requestId: string, payload: Payload): void {
    if (requestId === 'word') this.#answered.resolve(payload)
  }
}

new AnswersByCallback().serve()

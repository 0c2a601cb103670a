/**
 * An error response of the git server, in the words of Gitea's API: clients of that API read its status and message. It takes the
 * place of the platform's catalogue of errors, whose codes they do not know.
 */
export class Refusal extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.name = 'Refusal'
    this.status = status
  }
}

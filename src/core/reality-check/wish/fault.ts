/** The fault of a request for a reality check: where it is, and the rule. The parts of the parser throw it; parse-wish.ts makes an error of it. */
export class WishFault {
  readonly reason: string
  constructor(where: string, rule: string) {
    this.reason = `"${where}" must be ${rule}`
  }
}

export type Fields = Readonly<Record<string, unknown>>

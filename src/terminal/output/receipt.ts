/** What a command that changed something says about it: a line for a person, `resolve.receipt/1` for a program. */
import type { Output } from './output.ts'

export interface Receipt {
  action: string
  instance_id: string
  [more: string]: unknown
}

export async function tellReceipt(output: Output, receipt: Receipt, sentence: string): Promise<void> {
  if (output.json) await output.document({ schema: 'resolve.receipt/1', ...receipt })
  else output.note(sentence)
}

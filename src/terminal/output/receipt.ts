/** Confirms what a command has sent: a line for a person, or the document `resolve.receipt/1`. */
import type { Output } from './output.ts'

export interface Receipt {
  action: string
  instance_id: string
  [more: string]: unknown
}

export async function printReceipt(output: Output, receipt: Receipt, sentence: string): Promise<void> {
  if (output.json) await output.document({ schema: 'resolve.receipt/1', ...receipt })
  else output.note(sentence)
}

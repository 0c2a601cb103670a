/** Names of the coordination files in `.resolve/` (spec, Worker container layout). */

export const CONFIG_FILE = 'config.json'
export const EVENTS_FILE = 'events.jsonl'
export const STATE_FILE = 'state.json'
export const STATUS_FILE = 'status.json'
/** Where a resolver saves its checkpoint; the SDK does. */
export const CHECKPOINT_FILE = 'checkpoint.json'
export const REQUESTS_DIR = 'input-requests'
export const MESSAGES_DIR = 'messages'
export const DATA_DIR = 'data'

/** The format of a request id (threats FS-13): it becomes a file name on both sides of the process border. */
const REQUEST_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/

export function isRequestId(value: unknown): value is string {
  // These endings are taken by the response, the refusal and the delivery mark of a request.
  return typeof value === 'string' && REQUEST_ID.test(value) && !/\.(response|error|sent)$/.test(value)
}

/** The request that a file with this name may belong to as its response, refusal or delivery mark. */
export function requestBeside(name: string): string | undefined {
  return /^(.+)\.(?:response|error|sent)\.json$/.exec(name)?.[1]
}

export function requestFile(requestId: string): string {
  return `${REQUESTS_DIR}/${requestId}.json`
}

export function responseFile(requestId: string): string {
  return `${REQUESTS_DIR}/${requestId}.response.json`
}

/**
 * Written by the host when a request has a malformed form (R30): `{errors: string[]}`. The SDK rejects the request's promise
 * with it.
 */
export function refusalFile(requestId: string): string {
  return `${REQUESTS_DIR}/${requestId}.error.json`
}

/** 1 → `messages/001.json`; four or more digits when needed. */
export function messageFile(number: number): string {
  return `${MESSAGES_DIR}/${String(number).padStart(3, '0')}.json`
}

/**
 * What a resolver, a manifest or a file name says is hostile to a terminal: it could move the cursor, retitle the window,
 * write to the clipboard or read backwards. Every text on its way to a person passes here; text on its way to a program
 * (`--json`, `--jsonl`, data bytes) never does.
 */

/** A whole control sequence: CSI, or a string sequence (OSC, DCS, SOS, PM, APC) up to its end, in 7- or 8-bit form. */
const SEQUENCES =
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]?|(?:\u001b[\]PX^_]|[\u009d\u0090\u0098\u009e\u009f])[^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c)?|\u001b[ -/]*[0-~]?/g

/** C0 but newline and tab, DEL, C1. */
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g

/** Overrides and isolates that turn the reading direction, and the line and paragraph separators. */
const DIRECTIONS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029]/g

/** The text with nothing left in it that a terminal would act on; newlines and tabs stay. */
export function cleanText(text: string): string {
  return text.replace(/\r\n/g, '\n').replace(SEQUENCES, '').replace(CONTROLS, '').replace(DIRECTIONS, '')
}

/** The same on one line: runs of white space become one space. */
export function cleanLine(text: string): string {
  return cleanText(text).replace(/\s+/g, ' ').trim()
}

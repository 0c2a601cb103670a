/**
 * Removes control sequences from text of resolvers, manifests and file names. In a terminal such text could move the cursor, change
 * the window title, write to the clipboard or reverse the reading direction. All text shown to people is cleaned here; output for
 * programs (`--json`, `--jsonl`, data bytes) is not changed.
 */

/** A complete control sequence: CSI, or a string sequence (OSC, DCS, SOS, PM, APC) up to its end, in 7-bit or 8-bit form. */
const SEQUENCES =
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]?|(?:\u001b[\]PX^_]|[\u009d\u0090\u0098\u009e\u009f])[^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c)?|\u001b[ -/]*[0-~]?/g

/** C0 except newline and tab, DEL, C1. */
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g

/** Overrides and isolates that change the reading direction, and the line and paragraph separators. */
const DIRECTIONS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029]/g

/** The text without anything that a terminal interprets; newlines and tabs stay. */
export function cleanText(text: string): string {
  return text.replace(/\r\n/g, '\n').replace(SEQUENCES, '').replace(CONTROLS, '').replace(DIRECTIONS, '')
}

/** Like {@link cleanText}, with its further lines indented: none of them looks like an entry of its own. */
export function indentedText(text: string): string {
  return cleanText(text).trimEnd().replaceAll('\n', '\n    ')
}

/** Like {@link cleanText}, on one line: each run of white space becomes one space. */
export function cleanLine(text: string): string {
  return cleanText(text).replace(/\s+/g, ' ').trim()
}

/** Words by which a feature spec says what cannot be checked over HTTP. The files of the sections call these. */

const VAGUE =
  /\b(?:appropriate(?:ly)?|proper(?:ly)?|reasonabl[ey]|as needed|where necessary|if necessary|and so on|gracefully|user[- ]friendly|robust(?:ly)?|performant|efficient(?:ly)?|sensibl[ey]|suitabl[ey]|correctly|as expected|too (?:long|short|big|large|small|many|few)|etc\b)/i
const SPEED = /\b(?:fast|quick|quickly|slow|reliabl[ey]|scalable|responsive|easy|easily)\b/i
const IMPLEMENTATION =
  /\b(?:hash ?maps?|hash ?tables?|linked lists?|binary trees?|b-trees?|data structures?|algorithms?|singletons?|design patterns?|microservices?|for loops?|recursion)\b|\bO\((?:1|n|log|n log n|n\^2)/i
const FUTURE =
  /\b(?:in (?:the|a) future|future (?:version|release|enhancement|work)s?|nice to have|later (?:version|release|phase)s?|phase (?:2|two)|eventually|for now|some ?day)\b/i
const PLACEHOLDER =
  /\b(?:T(?:ODO|BD)|FIX[-_]?ME|X{3})\b|\[(?:METHOD|status(?: code)?|endpoint(?: name)?|feature name|specific [a-z ]{1,40}|exact constraint|condition|edge case|\/exact[^\]]{0,80})\]/i

/** The first word of this kind; undefined where there is none. A text with a number states how fast. */
export function vagueWord(text: string): string | undefined {
  return VAGUE.exec(text)?.[0] ?? (/\d/.test(text) ? undefined : SPEED.exec(text)?.[0])
}

export const implementationWord = (text: string) => IMPLEMENTATION.exec(text)?.[0]
export const futureWord = (text: string) => FUTURE.exec(text)?.[0]
export const placeholderWord = (text: string) => PLACEHOLDER.exec(text)?.[0]

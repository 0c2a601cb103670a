/** A pipeline as its source says it, before its handlers and rules are looked at: the parser makes it, everything else reads it. */
import type { Diagnostic, Offset } from './diagnostic.ts'

export interface Value {
  text: string
  at: Offset
}

/** By the canonical name of the attribute (names.ts). Attributes that no rule knows are kept. */
export type Attributes = ReadonlyMap<string, Value>

export interface PipelineNode {
  id: string
  at: Offset
  attributes: Attributes
  /** From the attribute `class` and from the labels of the subgraphs around it. */
  classes: readonly string[]
  /** Named by edges alone, never declared. */
  isImplicit: boolean
}

export interface PipelineEdge {
  from: string
  to: string
  at: Offset
  attributes: Attributes
}

export interface PipelineGraph {
  name: string
  attributes: Attributes
  /** In the order of their first mention. */
  nodes: ReadonlyMap<string, PipelineNode>
  edges: readonly PipelineEdge[]
}

export interface Parsed {
  graph: PipelineGraph
  /** Of the syntax alone. An error among them: the graph is not to be run. */
  diagnostics: Diagnostic[]
}

export function textOf(attributes: Attributes, name: string): string | undefined {
  return attributes.get(name)?.text
}

/** Undefined also for what is not a whole number. */
export function integerOf(attributes: Attributes, name: string): number | undefined {
  const text = attributes.get(name)?.text.trim()
  return text !== undefined && /^[+-]?\d{1,15}$/.test(text) ? Number(text) : undefined
}

/** Undefined also for what is no number. */
export function numberOf(attributes: Attributes, name: string): number | undefined {
  const text = attributes.get(name)?.text.trim()
  return text !== undefined && /^[+-]?\d{1,9}(?:\.\d{1,9})?$/.test(text) ? Number(text) : undefined
}

export function isOn(attributes: Attributes, name: string): boolean {
  return attributes.get(name)?.text.trim().toLowerCase() === 'true'
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Milliseconds. `bareUnitMs` is the unit of a number alone. Undefined for what is no duration. */
export function durationOf(text: string, bareUnitMs: number): number | undefined {
  const [, number, unit] = /^\s*(\d{1,12}(?:\.\d{1,6})?)\s*(ms|s|m|h|d)?\s*$/.exec(text) ?? []
  if (number === undefined) return undefined
  return Math.round(Number(number) * (unit === undefined ? bareUnitMs : (UNITS[unit] as number)))
}

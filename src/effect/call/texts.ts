import { createHash } from 'node:crypto'
import type { FleetcronError } from '../../errors.js'
import { effectInvalid, messageOf } from '../errors.js'
import { shown } from '../values.js'

/** Longest text of what `send` threw. */
const PROBLEM_CHARACTERS = 2_000

/** What was thrown, as it is kept. */
export function problemOf(error: unknown): string {
  const text = messageOf(error)
    .replaceAll('\0', '')
    .replaceAll(/\p{Surrogate}/gu, '?')
  return [...text].slice(0, PROBLEM_CHARACTERS).join('')
}

export function askedOften(asked: number): string {
  if (asked === 0) return 'there was no answer'
  return asked === 1 ? 'asked once' : `asked ${asked} times`
}

/** A mistake in `find` decides nothing. */
export function foundNothingKnown(what: string, known: unknown): FleetcronError {
  return effectInvalid(
    what,
    `its find() answered with ${wordOf(known)}. It answers with { state: 'found', result }, { state: 'absent' } or ` +
      `{ state: 'unknown' }. The outcome stays uncertain, and nothing was sent.`,
  )
}

function wordOf(known: unknown): string {
  if (typeof known !== 'object' || known === null) return known === null ? 'null' : typeof known
  const { state } = known as { state?: unknown }
  return typeof state === 'string' ? `the state '${shown(state)}'` : `a state that is ${typeof state}`
}

/** The same for every attempt on every node, in a form that every provider takes: a UUID of version 8. */
export function idempotencyKeyOf(kept: string): string {
  const hex = createHash('sha256').update(`fleetcron:${kept}`).digest('hex')
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 0x3) | 0x8).toString(16)
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-')
}

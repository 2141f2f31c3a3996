import { parseDuration } from '../duration.js'
import { FleetcronError } from '../errors.js'
import { cleanText } from '../ledger/index.js'

/** A duration: `'30s'`, `'15m'`, or milliseconds. */
export type Duration = string | number

export function optionInvalid(what: string, why: string): FleetcronError {
  return new FleetcronError('OPTION_INVALID', `${what}: ${why}`)
}

/**
 * Refuses keys that nobody knows, with the known ones named: an option that is misspelt must not turn into a default in
 * silence. Words of other schedulers are answered with ours.
 */
export function refuseUnknown(
  what: string,
  given: object,
  known: readonly string[],
  foreign: Readonly<Record<string, string>> = {},
): void {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw optionInvalid(what, `options are an object with ${known.join(', ')}.`)
  }
  for (const key of Object.keys(given)) {
    if (known.includes(key)) continue
    const ours = own(foreign, key) ?? known.find((name) => name.toLowerCase() === key.toLowerCase())
    const hint = ours === undefined ? '' : ` Did you mean ${ours}?`
    throw optionInvalid(what, `there is no option '${key}'.${hint} Known are ${known.join(', ')}.`)
  }
}

export function wholeNumber(what: string, value: unknown, least: number, most = 1_000_000): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return value
  throw optionInvalid(what, `${show(value)} is not a whole number from ${least} to ${most}.`)
}

export function durationMs(what: string, value: Duration, leastMs: number, mostMs = 366 * 86_400_000): number {
  const ms = parseDuration(value, what)
  if (ms >= leastMs && ms <= mostMs) return ms
  throw optionInvalid(what, `${show(value)} is out of range: from ${leastMs} ms to ${mostMs} ms.`)
}

export function oneOf<Word extends string>(
  what: string,
  value: unknown,
  words: readonly Word[],
  foreign: Readonly<Record<string, string>> = {},
): Word {
  const found = words.find((word) => word === value)
  if (found !== undefined) return found
  const theirs = typeof value === 'string' ? own(foreign, value.toLowerCase()) : undefined
  const hint = theirs === undefined ? '' : ` ${theirs}`
  throw optionInvalid(what, `${show(value)} is not one of ${words.map((word) => `'${word}'`).join(', ')}.${hint}`)
}

export function flag(what: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value
  throw optionInvalid(what, `${show(value)} is neither true nor false.`)
}

export function textOf(what: string, value: unknown, most: number): string {
  if (typeof value === 'string' && value.trim() !== '' && value.length <= most) {
    if (cleanText(value, most) === value) return value
    throw optionInvalid(what, 'it holds a NUL or half of a surrogate pair, which stores cannot keep. Leave it away.')
  }
  throw optionInvalid(what, `${show(value)} is not a text of 1 to ${most} characters.`)
}

function own(words: Readonly<Record<string, string>>, key: string): string | undefined {
  return Object.hasOwn(words, key) ? words[key] : undefined
}

function show(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : String(value)
}

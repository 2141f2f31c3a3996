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
    const ours = own(foreign, key) ?? closest(key, known)
    throw optionInvalid(what, `there is no option '${key}'.${didYouMean(ours)} Known are ${known.join(', ')}.`)
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
  const near = typeof value === 'string' ? closest(value, words) : undefined
  const hint = theirs === undefined ? didYouMean(near && `'${near}'`) : ` ${theirs}`
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

/** A question to end a message with; empty where nothing is near. */
export function didYouMean(word: string | undefined): string {
  return word === undefined || word === '' ? '' : ` Did you mean ${word}?`
}

/** The known word that was probably meant: the same but for capitals and marks, or a slip or two away. */
export function closest(given: string, known: readonly string[]): string | undefined {
  const plain = (word: string) => word.toLowerCase().replace(/[-_.: ]/g, '')
  const wanted = plain(given)
  let best: string | undefined
  let least = wanted.length < 5 ? 2 : 3
  for (const word of known) {
    // Letters that changed places are one slip.
    const slips = sorted(wanted) === sorted(plain(word)) ? 1 : distance(wanted, plain(word))
    if (slips < least) {
      least = slips
      best = word
    }
  }
  return best
}

function sorted(word: string): string {
  return [...word].sort().join('')
}

/** How many letters have to be put in, left out or replaced to make one word of the other. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let line = 1; line <= a.length; line += 1) {
    const next = [line]
    for (let column = 1; column <= b.length; column += 1) {
      const replaced = (row[column - 1] ?? 0) + (a[line - 1] === b[column - 1] ? 0 : 1)
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}

/** Says of an error about a schedule or a zone which job or option it is about. */
export function naming<T>(what: string, act: () => T): T {
  try {
    return act()
  } catch (error) {
    if (!(error instanceof FleetcronError)) throw error
    throw new FleetcronError(error.code, `${what}: ${error.message}`, { cause: error.cause })
  }
}

function own(words: Readonly<Record<string, string>>, key: string): string | undefined {
  return Object.hasOwn(words, key) ? words[key] : undefined
}

function show(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : String(value)
}

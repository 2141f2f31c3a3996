import { createHash } from 'node:crypto'
import { FleetcronError } from '../errors.js'
import { effectInvalid, messageOf } from './errors.js'

/** Characters (code points) of a key, and of a prefix; bytes of a result's JSON in UTF-8. */
export const LIMITS = {
  keyCharacters: 512,
  prefixCharacters: 64,
  resourceCharacters: 640,
  resultBytes: 65_536,
} as const

/** What a key looks like in a message: cut, and harmless to a terminal. */
export function shown(key: unknown): string {
  const text = typeof key === 'string' ? key : String(key)
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text).slice(1, -1)
}

/** Refuses what is no key: databases differ in what they do with an empty text, NUL or half a character. */
export function checkText(text: unknown, what: string, least: number, most: number): asserts text is string {
  if (typeof text !== 'string') throw effectInvalid(what, `it is ${text === null ? 'null' : typeof text}, not a text.`)
  const length = text.length > most ? [...text].length : text.length
  if (text.length < least) throw effectInvalid(what, `it is empty; it needs ${least} to ${most} characters.`)
  if (length > most) {
    throw effectInvalid(what, `it has ${length} characters, more than ${most}. Put a hash of the long part into it.`)
  }
  if (text.includes('\0')) throw effectInvalid(what, 'it contains NUL, which databases refuse or cut at.')
  if (/\p{Surrogate}/u.test(text)) {
    throw effectInvalid(what, 'it contains half of a surrogate pair, which is no character. Cut texts by code points.')
  }
}

/** JSON of a value, null for `undefined`. Refuses what JSON would drop or change in silence, so that a repeat equals the first. */
function encode(value: unknown, what: string, remedy: string): string | null {
  try {
    return toJson(value)
  } catch (error) {
    throw effectInvalid(what, `JSON cannot carry it (${messageOf(error)}). ${remedy}`, error)
  }
}

function toJson(value: unknown): string | null {
  if (value === undefined) return null
  const text = JSON.stringify(value, refuseTheUnkeepable)
  if (text === undefined) throw new TypeError('its toJSON() gives nothing')
  return text
}

export function decode(text: string | null): unknown {
  return text === null ? undefined : JSON.parse(text)
}

/** A function without braces returns what the driver answers, which is seldom data. */
const OF_FN =
  "Put the function's statements into braces, await each where it is asynchronous, and return nothing, or plain data such as an id."

/** What else than `fn` makes a result. */
export const OF_SEND = 'Let send and find give plain data, such as the fields that are needed of the answer.'

/** JSON of a result, within its limit. */
export function encodeResult(value: unknown, what: string, remedy = OF_FN): string | null {
  const text = encode(value, `${what}: its result`, remedy)
  const bytes = text === null ? 0 : Buffer.byteLength(text)
  if (bytes > LIMITS.resultBytes) {
    throw new FleetcronError(
      'RESULT_TOO_LARGE',
      `${what}: its result has ${bytes} bytes of JSON, more than ${LIMITS.resultBytes}; nothing was written. Return a ` +
        'reference, such as an id, in place of the content.',
    )
  }
  return text
}

/**
 * JSON of a provider's answer. One that cannot be kept is confirmed all the same, so what is wrong with it is said and not
 * thrown; its first word is the code.
 */
export function encodeAnswer(value: unknown): { readonly result: string | null; readonly problem: string | null } {
  try {
    const result = toJson(value)
    const bytes = result === null ? 0 : Buffer.byteLength(result)
    if (bytes <= LIMITS.resultBytes) return { result, problem: null }
    const problem = `RESULT_TOO_LARGE: it has ${bytes} bytes of JSON, more than ${LIMITS.resultBytes}`
    return { result: null, problem }
  } catch (error) {
    return { result: null, problem: `EFFECT_INVALID: JSON cannot carry it (${messageOf(error)})` }
  }
}

const PLAIN_INPUT = 'Give plain data, such as ids and amounts.'

/** JSON of a call's input, which is kept before it is sent. */
export function encodeInput(value: unknown, what: string): string | null {
  const text = encode(value, `${what}: its input`, PLAIN_INPUT)
  const bytes = text === null ? 0 : Buffer.byteLength(text)
  if (bytes <= LIMITS.resultBytes) return text
  throw effectInvalid(
    what,
    `its input has ${bytes} bytes of JSON, more than ${LIMITS.resultBytes}. Give a reference, such as an id, and let send read the content.`,
  )
}

/** A word that is equal for equal inputs, whatever the order of their fields; no input has a word of its own. */
export function fingerprint(input: unknown, what: string): string {
  const text = encode(input, `${what}: its input`, PLAIN_INPUT)
  if (text === null) return 'none'
  return createHash('sha256')
    .update(sortedFields(JSON.parse(text)))
    .digest('hex')
}

function refuseTheUnkeepable(this: unknown, field: string, value: unknown): unknown {
  const isGap = value === undefined && Array.isArray(this)
  const raw = (this as Record<string, unknown>)[field]
  const isNoNumber = typeof value === 'number' ? !Number.isFinite(value) : raw instanceof Date && value === null
  const isNoData = typeof value === 'function' || typeof value === 'symbol' || typeof value === 'bigint'
  if (isGap || isNoNumber || isNoData) {
    throw new TypeError(`${field === '' ? 'it' : `'${shown(field)}'`} is ${isNoNumber ? String(raw) : typeof value}`)
  }
  if (value instanceof Map || value instanceof Set) {
    throw new TypeError(`${field === '' ? 'it' : `'${shown(field)}'`} is a ${value.constructor.name}`)
  }
  return value
}

/** Written by hand, because an object rebuilt with sorted fields would lose one called `__proto__`. */
function sortedFields(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(sortedFields).join()}]`
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${sortedFields(field)}`).join()}}`
}

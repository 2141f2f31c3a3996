/**
 * Checks of what arrives over the network: each takes a value of any kind and throws `Malformed` where it is not what it has
 * to be, saying where. Fields that are not known are let through, so that a newer peer may say more; they are not deep.
 */
export type Check = (value: unknown, at: string) => void

/**
 * One check for each field of a type: a field that is added to the port and forgotten here does not compile. One that is
 * added after a release is `optional`, since nodes of the version before do not send it.
 */
export type Checks<T> = { readonly [Field in keyof T]-?: Check }

/** What arrived is not what the port speaks; the message says where, and shows nothing of it. */
export class Malformed extends Error {}

function fail(at: string, what: string): never {
  throw new Malformed(`${at} has to be ${what}`)
}

/** What every store can keep: well-formed, free of NUL. */
export const text: Check = (value, at) => {
  if (typeof value !== 'string') fail(at, 'a text')
  if (/\0|\p{Surrogate}/u.test(value)) fail(at, 'well-formed text without NUL')
}

export const whole: Check = (value, at) => {
  if (!Number.isSafeInteger(value)) fail(at, 'a whole number')
}

export const finite: Check = (value, at) => {
  if (typeof value !== 'number' || !Number.isFinite(value)) fail(at, 'a number')
}

export const flag: Check = (value, at) => {
  if (typeof value !== 'boolean') fail(at, 'true or false')
}

export function wholeFrom(least: number, most: number): Check {
  return (value, at) => {
    const isInRange = Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most
    if (!isInRange) fail(at, `a whole number from ${least} to ${most}`)
  }
}

/** A machine word: a newer node may have some that this version has not, and a store keeps them as they are. */
export const word: Check = (value, at) => {
  if (typeof value !== 'string' || !/^[a-z][a-z-]{0,40}$/.test(value)) fail(at, 'a word of small letters')
}

export function oneOf(...words: readonly string[]): Check {
  return (value, at) => {
    if (!words.includes(value as string)) fail(at, `one of ${words.join(', ')}`)
  }
}

export function orNull(check: Check): Check {
  return (value, at) => (value === null ? undefined : check(value, at))
}

/** A field that may be left out. */
export function optional(check: Check): Check {
  return (value, at) => (value === undefined ? undefined : check(value, at))
}

export function list(check: Check): Check {
  return (value, at) => {
    if (!Array.isArray(value)) fail(at, 'a list')
    for (const [index, each] of value.entries()) check(each, `${at}[${index}]`)
  }
}

/** An object with any keys. */
export function record(check: Check): Check {
  return (value, at) => {
    for (const [key, each] of Object.entries(fieldsOf(value, at))) {
      text(key, `a key of ${at}`)
      check(each, `a value of ${at}`)
    }
  }
}

export function shape<T>(checks: Checks<T>): Check {
  const known = Object.entries(checks) as [string, Check][]
  return (value, at) => {
    const fields = fieldsOf(value, at)
    for (const [name, check] of known) {
      check(Object.hasOwn(fields, name) ? fields[name] : undefined, at === '' ? name : `${at}.${name}`)
    }
    for (const name of Object.keys(fields)) {
      if (!Object.hasOwn(checks, name)) notDeep(fields[name], at, DEEPEST)
    }
  }
}

const DEEPEST = 16

function notDeep(value: unknown, at: string, left: number): void {
  if (typeof value !== 'object' || value === null) return
  if (left === 0) fail(at, 'less deep')
  for (const inner of Object.values(value)) notDeep(inner, at, left - 1)
}

function fieldsOf(value: unknown, at: string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  return fail(at === '' ? 'the body' : at, 'an object')
}

import type { RunError } from '../ledger/types.js'

/** A handler may throw anything: `undefined`, a text, an object whose getters throw. What is recorded is always text. */
export function describeError(thrown: unknown): RunError {
  try {
    if (thrown instanceof Error) {
      return { name: text(thrown, 'name') ?? 'Error', message: messageOf(thrown), stack: text(thrown, 'stack') }
    }
    if (typeof thrown === 'object' && thrown !== null) {
      const message = text(thrown, 'message') ?? printed(thrown)
      return { name: text(thrown, 'name') ?? 'NonError', message, stack: text(thrown, 'stack') }
    }
    return { name: 'NonError', message: `the handler threw ${printed(thrown)}`, stack: null }
  } catch {
    return { name: 'NonError', message: 'the handler threw something that cannot be read', stack: null }
  }
}

function messageOf(error: Error): string {
  const message = text(error, 'message') ?? ''
  const cause = read(error, 'cause')
  if (!(cause instanceof Error)) return message
  const why = text(cause, 'message')
  return why === null || message.includes(why) ? message : `${message} (cause: ${why})`
}

function read(object: object, key: string): unknown {
  try {
    return (object as Record<string, unknown>)[key]
  } catch {
    return undefined
  }
}

function text(object: object, key: string): string | null {
  const value = read(object, key)
  return typeof value === 'string' ? value : null
}

function printed(value: unknown): string {
  if (typeof value === 'string') return `the text '${value.slice(0, 500)}'`
  if (typeof value === 'object' && value !== null) {
    try {
      return JSON.stringify(value)?.slice(0, 500) ?? 'an object'
    } catch {
      return 'an object that cannot be printed'
    }
  }
  return typeof value === 'function' ? 'a function' : String(value)
}

/** Whether the handler let pass that an outcome is uncertain, however it wrapped it. */
export function isUncertain(thrown: unknown): boolean {
  let error = thrown
  for (let depth = 0; depth < 5 && typeof error === 'object' && error !== null; depth++) {
    if (read(error, 'code') === 'EFFECT_UNCERTAIN') return true
    error = read(error, 'cause')
  }
  return false
}

/** What a stale fence told, where that is what the handler threw: which resource and token, and what the fence shows. */
export function staleToken(thrown: unknown): { resource: string; token: number; highest: number } | null {
  if (typeof thrown !== 'object' || thrown === null || read(thrown, 'code') !== 'STALE_TOKEN') return null
  const resource = text(thrown, 'resource')
  const token = read(thrown, 'token')
  const highest = read(thrown, 'highest')
  if (resource === null || typeof token !== 'number' || typeof highest !== 'number') return null
  return { resource, token, highest }
}

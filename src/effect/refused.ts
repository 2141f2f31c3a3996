import { FleetcronError } from '../errors.js'
import { effectInvalid, messageOf } from './errors.js'
import type { EffectAdapter } from './port.js'

/** What a statement of Fleetcron's own has met, said with its remedy where that is known; else as it is. */
export function explained<Tx>(adapter: EffectAdapter<Tx>, what: string, error: unknown): unknown {
  if (error instanceof FleetcronError || adapter.classify(error) !== 'other') return error
  for (const inner of chainOf(error)) {
    const { code, errno, message } = inner
    const text = String(message)
    const isMissing = code === '42P01' || errno === 1146 || TOLD.test(text)
    if (isMissing && /fleetcron_(effect|fence)/.test(text)) return tablesMissing(what, inner, error)
    if (code === '25006' || READ_ONLY.has(Number(errno))) {
      return readOnly(what, inner, error)
    }
  }
  return error
}

/** As SQLite says it, and Prisma what it was told: code and words are in its message alone. */
const TOLD = /no such table|\b(42P01|1146)\b/

/** The server, the transaction, and a table of a server that only starts. */
const READ_ONLY: ReadonlySet<number> = new Set([1290, 1792, 1836])

function tablesMissing(what: string, inner: Inner, cause: unknown): FleetcronError {
  const why =
    `the tables of effects are missing in this database (${messageOf(inner)}). Make them with ` +
    '`fleetcron migrate --effects <url>`, or call `effects.ensure()` first. Nothing was written.'
  return effectInvalid(what, why, cause)
}

function readOnly(what: string, inner: Inner, cause: unknown): FleetcronError {
  return new FleetcronError(
    'EFFECT_UNAVAILABLE',
    `${what}: the business database lets nothing be written (${messageOf(inner)}). Nothing was written; connect to its ` +
      'primary, with a transaction that may write.',
    { cause },
  )
}

type Inner = { readonly code?: unknown; readonly errno?: unknown; readonly message?: unknown }

/** An error and what libraries wrap in it. */
function* chainOf(error: unknown): Generator<Inner> {
  const waiting = [error]
  for (let seen = 0; waiting.length > 0 && seen < 20; seen++) {
    const inner = waiting.shift()
    if (typeof inner !== 'object' || inner === null) continue
    yield inner as Inner
    const { cause, driverError, original, parent } = inner as Readonly<Record<string, unknown>>
    waiting.push(cause, driverError, original, parent)
  }
}

import { AsyncLocalStorage } from 'node:async_hooks'
import { FleetcronError } from '../errors.js'

/**
 * Which effect's `fn` the present code runs in. A frame is closed when its `fn` has ended: what it left behind (a timer,
 * a queued callback) is not inside it any more.
 */
export interface Frame {
  readonly key: string
  readonly tx: unknown
  readonly outer: Frame | null
  open: boolean
}

const SCOPE = Symbol.for('fleetcron/effect-scope')

/** One storage per process, also where several copies of the package are loaded. */
function scope(): AsyncLocalStorage<Frame> {
  const shared = globalThis as { [SCOPE]?: AsyncLocalStorage<Frame> }
  shared[SCOPE] ??= new AsyncLocalStorage<Frame>()
  return shared[SCOPE]
}

/** The innermost effect whose `fn` is still running, or null. */
export function currentFrame(): Frame | null {
  let frame: Frame | null = scope().getStore() ?? null
  while (frame && !frame.open) frame = frame.outer
  return frame
}

/** Calls `fn` as the body of the effect `key`, and closes its frame when it has returned. */
export function insideEffect<R>(key: string, tx: unknown, fn: () => R): R {
  const frame = frameOf(key, tx)
  try {
    return scope().run(frame, fn)
  } finally {
    frame.open = false
  }
}

/** The same for a function that may answer with a promise; a query builder that runs when it is awaited is awaited once. */
export async function insideEffectAwaiting<R>(key: string, tx: unknown, fn: () => R): Promise<Awaited<R>> {
  const frame = frameOf(key, tx)
  try {
    return await scope().run(frame, async () => await fn())
  } finally {
    frame.open = false
  }
}

function frameOf(key: string, tx: unknown): Frame {
  return { key, tx, outer: currentFrame(), open: true }
}

/** An act with a transaction of its own cannot be part of an effect: it would count although the outer one is rolled back. */
export function refuseInsideEffect(what: string): void {
  const frame = currentFrame()
  if (!frame) return
  throw new FleetcronError(
    'EFFECT_NESTED',
    `${what}: it has a transaction of its own and was started inside the effect '${frame.key}', so it would count even if ` +
      'that one is rolled back. Pass the outer transaction on with { tx }, or do one after the other.',
  )
}

/** The same key inside itself would find its own unfinished row. */
export function refuseInsideItself(key: string, what: string): void {
  for (let frame = currentFrame(); frame; frame = frame.outer) {
    if (!frame.open || frame.key !== key) continue
    throw new FleetcronError(
      'EFFECT_NESTED',
      `${what}: it was started inside itself. Give the inner effect a key of its own.`,
    )
  }
}

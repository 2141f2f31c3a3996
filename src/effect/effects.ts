import type { CallOptions, Calls, Resolution, ResolvedCall, UncertainEffect } from './call/face.js'
import { CallFlow } from './call/flow.js'
import { listScript, resolveScript } from './call/scripts.js'
import { UnderWay } from './call/under-way.js'
import { asyncRefused, effectInvalid } from './errors.js'
import { checkNames, type EffectSettings, resolveEffectOptions } from './options.js'
import { playJoined, playOwn } from './play.js'
import type {
  BoundEffects,
  EffectAdapter,
  EffectOptions,
  EffectOrigin,
  Effects,
  Joined,
  OnceOptions,
  PrunedPage,
  PrunePage,
  Raised,
  Statements,
} from './port.js'
import { pruneScript } from './prune.js'
import { repeating } from './retry.js'
import { currentFrame, insideEffect, insideEffectAwaiting, refuseInsideEffect, refuseInsideItself } from './scope.js'
import { type Effect, fenceScript, onceScript, raiseScript, type Script } from './script.js'
import { ensureScript, missingScript, tablesSpoilt, tablesText } from './tables.js'
import { checkText, encodeResult, fingerprint, LIMITS, shown } from './values.js'

/** One business database, as its effects see it. */
interface Base<Tx> {
  readonly adapter: EffectAdapter<Tx>
  readonly settings: EffectSettings
  readonly underWay: UnderWay
}

/**
 * Effects on one business database. An adapter's own function calls this, so that users write `effects: sqlite(database)`.
 *
 * @throws FleetcronError `OPTION_INVALID` for an option it does not know
 */
export function createEffects<Tx>(adapter: EffectAdapter<Tx>, options?: EffectOptions): Effects<Tx> {
  const base: Base<Tx> = { adapter, settings: resolveEffectOptions(options), underWay: new UnderWay() }
  return {
    dialect: adapter.dialect,
    tables: tablesText(adapter.statements),
    ensure: () => promisedUnlessNested(() => ensureTables(base)),
    missing: () => promisedUnlessNested(() => tablesBy(base, missingScript)),
    raise: (resource, token) => promisedUnlessNested(() => raiseFence(base, resource, token)),
    bind: (origin) => bindTo(base, origin),
    keptMs: base.settings.keptMs,
    prune: (page) => promisedUnlessNested(() => pruneKeys(base, page)),
    once: onceFor(base, null) as Effects<Tx>['once'],
    call: callFor(base, null),
    uncertain: (limit = 100) => promisedUnlessNested(() => listUncertain(base, limit)),
    resolve: (key, resolution) => promisedUnlessNested(() => resolveCall(base, key, resolution)),
  }
}

function bindTo<Tx>(base: Base<Tx>, origin: EffectOrigin): BoundEffects<Tx> {
  const whose = `Job '${origin.job}', run '${origin.runKey}'`
  if (origin.fence) checkFence(whose, origin.resource, origin.token)
  return {
    once: onceFor(base, origin) as BoundEffects<Tx>['once'],
    call: callFor(base, origin),
    fence(tx) {
      const what = `${whose}: its fence`
      if (!origin.fence) throw effectInvalid(what, 'the job has `fence: false`, so nothing raises one.')
      origin.signal.throwIfAborted()
      const script = fenceScript(base.adapter.statements, origin, null)
      return playJoined(base.adapter, tx, what, script) as Joined<Tx, void>
    },
  }
}

function callFor<Tx>({ adapter, settings, underWay }: Base<Tx>, origin: EffectOrigin | null): Calls['call'] {
  const call = (key: string, options: CallOptions<unknown, unknown>) =>
    promisedUnlessNested(() => {
      const effect = effectOf(settings.prefix, origin, key, options?.input)
      refuseInsideEffect(effect.what)
      origin?.signal.throwIfAborted()
      checkCall(effect, options)
      return new CallFlow(adapter, settings, effect, options, underWay).run()
    })
  return call as Calls['call']
}

const ONCE_OPTIONS = ['input', 'tx'] as const
const CALL_OPTIONS = [
  'send',
  'find',
  'keyValidFor',
  'timeout',
  'retry',
  'input',
] as const satisfies readonly (keyof CallOptions<unknown>)[]

function checkCall(effect: Effect, options: CallOptions<unknown, unknown>): void {
  checkNames(options ?? {}, CALL_OPTIONS, effect.what)
  if (typeof options?.send !== 'function') throw effectInvalid(effect.what, 'a call needs `send`, a function.')
  if (options.find === undefined || typeof options.find === 'function') return
  throw effectInvalid(effect.what, `its find is ${typeof options.find}, not a function.`)
}

function listUncertain<Tx>({ adapter, settings }: Base<Tx>, limit: number): Promise<readonly UncertainEffect[]> {
  const what = 'The list of uncertain effects'
  refuseInsideEffect(what)
  return repeating(
    adapter,
    settings,
    what,
    () => playOwn(adapter, what, () => listScript(adapter.statements, limit)),
    null,
  )
}

function resolveCall<Tx>({ adapter, settings }: Base<Tx>, key: string, resolution: Resolution): Promise<ResolvedCall> {
  const effect: Effect = { what: `Effect '${shown(key)}'`, key, kept: key, fingerprint: 'none', origin: null }
  const result = checkResolution(effect, resolution)
  refuseInsideEffect(effect.what)
  const script = () => resolveScript(adapter.statements, effect, resolution, result)
  return repeating(adapter, settings, effect.what, () => playOwn(adapter, effect.what, script), null)
}

/** JSON of what is to be kept as the answer. */
function checkResolution(effect: Effect, resolution: Resolution): string | null {
  checkText(effect.kept, `${effect.what}: its key`, 1, LIMITS.keyCharacters + LIMITS.prefixCharacters)
  checkText(resolution.by, `${effect.what}: by`, 1, LIMITS.keyCharacters)
  checkText(resolution.why, `${effect.what}: why`, 1, LIMITS.keyCharacters)
  const said = ['confirmed', 'rejected', 'retry'].filter(
    (name) => (resolution as Record<string, unknown>)[name] !== undefined,
  )
  if (said.length > 1) throw effectInvalid(effect.what, `it cannot be ${said.join(' and ')} at once.`)
  if (resolution.rejected !== undefined) return JSON.stringify({ message: resolution.rejected })
  if (resolution.retry) return null
  if (!('confirmed' in resolution)) throw effectInvalid(effect.what, 'say `confirmed`, `rejected` or `retry: true`.')
  return encodeResult(resolution.confirmed, effect.what, 'Confirm it with plain data.')
}

/** What was made is looked at in a further transaction: the snapshot of the first may be older than another's tables. */
function ensureTables<Tx>(base: Base<Tx>): Promise<readonly string[]> {
  return tablesBy(base, ensureScript).then((made) => looked(base, made))
}

async function looked<Tx>(base: Base<Tx>, made: readonly string[]): Promise<readonly string[]> {
  const left = made.length === 0 ? made : await tablesBy(base, missingScript)
  if (left.length > 0) throw tablesSpoilt(TABLES, left)
  return made
}

const TABLES = 'The tables of effects'

function tablesBy<Tx, R>({ adapter, settings }: Base<Tx>, script: (sql: Statements) => Script<R>): Promise<R> {
  refuseInsideEffect(TABLES)
  const act = () => playOwn(adapter, TABLES, () => script(adapter.statements))
  return repeating(adapter, settings, TABLES, act, null)
}

function pruneKeys<Tx>({ adapter, settings }: Base<Tx>, page: PrunePage): Promise<PrunedPage> {
  const what = 'The retention of keys'
  const { keptMs, prefix } = settings
  refuseInsideEffect(what)
  if (keptMs === null) return Promise.resolve({ removed: 0, next: null })
  const script = () => pruneScript(adapter.statements, prefix, keptMs, page)
  return repeating(adapter, settings, what, () => playOwn(adapter, what, script), null)
}

function raiseFence<Tx>({ adapter, settings }: Base<Tx>, resource: string, token: number): Promise<Raised> {
  const what = `The fence of '${shown(resource)}'`
  checkFence(what, resource, token)
  refuseInsideEffect(what)
  const script = () => raiseScript(adapter.statements, resource, token)
  return repeating(adapter, settings, what, () => playOwn(adapter, what, script), null)
}

/**
 * `once` for an attempt, or for nobody. It answers with a promise, except where it joins a synchronous transaction: there
 * it has to throw before the user commits.
 */
function onceFor<Tx>(base: Base<Tx>, origin: EffectOrigin | null) {
  const { adapter, settings } = base
  return (key: string, fn: (tx: Tx) => unknown, options: OnceOptions & { tx?: Tx | undefined } = {}): unknown => {
    const ambient = options?.tx === undefined && !adapter.sync ? (adapter.ambient?.() ?? null) : null
    const tx = options?.tx ?? ambient
    const begin = (): unknown => {
      origin?.signal.throwIfAborted()
      const effect = effectOf(settings.prefix, origin, key, options?.input)
      checkNames(options, ONCE_OPTIONS, effect.what)
      checkFunction(adapter, effect, fn)
      const script = (tx: Tx) => scriptOf(adapter, effect, fn, tx)
      if (tx === null) return onceAlone(base, effect, script)
      // A transaction begun inside an effect surrounds this one: it may count although the effect is rolled back.
      if (ambient !== null && currentFrame()?.tx !== ambient) refuseInsideEffect(effect.what)
      refuseInsideItself(effect.kept, effect.what)
      return playJoined(adapter, tx, effect.what, script(tx))
    }
    if (tx === null) return promisedUnlessNested(begin)
    return adapter.sync ? begin() : promised(begin)
  }
}

/** What `begin` throws becomes a rejection. */
async function promised<R>(begin: () => R): Promise<Awaited<R>> {
  return await begin()
}

/** An act with a transaction of its own is refused at once where it would be nested: a synchronous function has to stop there. */
function promisedUnlessNested<R>(begin: () => R): R | Promise<Awaited<R>> {
  return currentFrame() === null ? promised(begin) : begin()
}

function onceAlone<Tx>({ adapter, settings }: Base<Tx>, effect: Effect, script: (tx: Tx) => Script<unknown>) {
  refuseInsideEffect(effect.what)
  const act = () => playOwn(adapter, effect.what, script, effect.origin?.leaseMs)
  return repeating(adapter, settings, effect.what, act, effect.origin?.signal ?? null)
}

function scriptOf<Tx>(adapter: EffectAdapter<Tx>, effect: Effect, fn: (tx: Tx) => unknown, tx: Tx): Script<unknown> {
  const inside = adapter.sync ? insideEffect : insideEffectAwaiting
  return onceScript(adapter.statements, effect, () => inside(effect.kept, tx, () => fn(tx)))
}

function effectOf(prefix: string, origin: EffectOrigin | null, key: string, input: unknown): Effect {
  const whose = origin ? `Job '${origin.job}', run '${origin.runKey}': effect` : 'Effect'
  const what = `${whose} '${shown(key)}'`
  checkText(key, `${what}: its key`, 1, LIMITS.keyCharacters)
  return { what, key, kept: prefix + key, fingerprint: fingerprint(input, what), origin }
}

function checkFunction<Tx>(adapter: EffectAdapter<Tx>, effect: Effect, fn: unknown): void {
  if (typeof fn !== 'function') throw effectInvalid(effect.what, `its second argument is ${typeof fn}, not a function.`)
  // Refused before it is called: what comes after its first `await` would be written outside the transaction.
  const isAsync = Object.prototype.toString.call(fn) === '[object AsyncFunction]'
  if (adapter.sync && isAsync) throw asyncRefused(effect.what)
}

function checkFence(what: string, resource: string, token: number): void {
  checkText(resource, `${what}: the resource`, 1, LIMITS.resourceCharacters)
  if (Number.isSafeInteger(token) && token > 0) return
  throw effectInvalid(what, `its token is ${token}; a token is a whole number from 1 to 2^53 - 1.`)
}

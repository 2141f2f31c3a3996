import { asyncRefused, effectInvalid } from './errors.js'
import { type EffectSettings, resolveEffectOptions } from './options.js'
import { playJoined, playOwn } from './play.js'
import type {
  BoundEffects,
  EffectAdapter,
  EffectOptions,
  EffectOrigin,
  Effects,
  Joined,
  OnceOptions,
  Raised,
} from './port.js'
import { repeating } from './retry.js'
import { currentFrame, insideEffect, refuseInsideEffect, refuseInsideItself } from './scope.js'
import { type Effect, fenceScript, onceScript, raiseScript, type Script } from './script.js'
import { checkText, fingerprint, LIMITS, shown } from './values.js'

type AnyOnceOptions<Tx> = OnceOptions & { readonly tx?: Tx | undefined }

/**
 * Effects on one business database. An adapter's own function calls this, so that users write `effects: sqlite(database)`.
 *
 * @throws FleetcronError `OPTION_INVALID` for an option it does not know
 */
export function createEffects<Tx>(adapter: EffectAdapter<Tx>, options?: EffectOptions): Effects<Tx> {
  const settings = resolveEffectOptions(options)
  const sql = adapter.statements
  const once = onceFor(adapter, settings, null) as Effects<Tx>['once']
  return {
    dialect: adapter.dialect,
    tables: sql.tables.map((statement) => `${statement};\n`).join('\n'),
    ensure: () => ensureTables(adapter, settings),
    raise: (resource, token) => raiseFence(adapter, settings, resource, token),
    bind(origin): BoundEffects<Tx> {
      checkOrigin(origin)
      return {
        once: onceFor(adapter, settings, origin) as BoundEffects<Tx>['once'],
        fence: (tx) => readFenceFor(adapter, origin, tx) as Joined<Tx, void>,
      }
    },
    once,
  }
}

async function ensureTables<Tx>(adapter: EffectAdapter<Tx>, settings: EffectSettings): Promise<void> {
  const what = 'The tables of effects'
  refuseInsideEffect(what)
  const script = function* () {
    for (const sql of adapter.statements.tables) yield { sql, params: [] }
  }
  await repeating(adapter, settings, what, () => playOwn(adapter, what, script), null)
}

async function raiseFence<Tx>(
  adapter: EffectAdapter<Tx>,
  settings: EffectSettings,
  resource: string,
  token: number,
): Promise<Raised> {
  const what = `The fence of '${shown(resource)}'`
  checkFence(what, resource, token)
  refuseInsideEffect(what)
  const script = () => raiseScript(adapter.statements, resource, token)
  return repeating(adapter, settings, what, () => playOwn(adapter, what, script), null)
}

function readFenceFor<Tx>(adapter: EffectAdapter<Tx>, origin: EffectOrigin, tx: Tx): void | Promise<void> {
  const what = `Job '${origin.job}', run '${origin.runKey}': its fence`
  return playJoined(adapter, tx, what, fenceScript(adapter.statements, origin, null))
}

/**
 * `once` for an attempt, or for nobody. It answers with a promise, except where it joins a synchronous transaction: there
 * it has to throw before the user commits; and where it is refused inside a synchronous function.
 */
function onceFor<Tx>(adapter: EffectAdapter<Tx>, settings: EffectSettings, origin: EffectOrigin | null) {
  return (key: string, fn: (tx: Tx) => unknown, options: AnyOnceOptions<Tx> = {}): unknown => {
    const tx = options.tx ?? (adapter.sync ? null : adapter.ambient?.()) ?? null
    const begin = (): unknown => {
      origin?.signal.throwIfAborted()
      const effect = describe(adapter, settings, origin, key, fn, options)
      if (tx === null) return onceAlone(adapter, settings, effect, fn)
      refuseInsideItself(effect.kept, effect.what)
      return playJoined(adapter, tx, effect.what, scriptFor(adapter, effect, fn, tx))
    }
    const refused = tx === null && currentFrame() !== null
    return refused || (tx !== null && adapter.sync) ? begin() : promised(begin)
  }
}

async function promised(begin: () => unknown): Promise<unknown> {
  return begin()
}

function onceAlone<Tx>(
  adapter: EffectAdapter<Tx>,
  settings: EffectSettings,
  effect: Effect,
  fn: (tx: Tx) => unknown,
): Promise<unknown> {
  refuseInsideEffect(effect.what)
  const act = () => playOwn(adapter, effect.what, (tx) => scriptFor(adapter, effect, fn, tx))
  return repeating(adapter, settings, effect.what, act, effect.origin?.signal ?? null)
}

function scriptFor<Tx>(adapter: EffectAdapter<Tx>, effect: Effect, fn: (tx: Tx) => unknown, tx: Tx): Script<unknown> {
  return onceScript(adapter.statements, effect, () => insideEffect(effect.kept, tx, () => fn(tx)))
}

function describe<Tx>(
  adapter: EffectAdapter<Tx>,
  settings: EffectSettings,
  origin: EffectOrigin | null,
  key: string,
  fn: unknown,
  options: OnceOptions,
): Effect {
  const whose = origin ? `Job '${origin.job}', run '${origin.runKey}': effect` : 'Effect'
  const what = `${whose} '${shown(key)}'`
  checkText(key, `${what}: the key`, 1, LIMITS.keyCharacters)
  if (typeof fn !== 'function') throw effectInvalid(what, `its second argument is ${typeof fn}, not a function.`)
  if (adapter.sync && isAsyncFunction(fn)) throw asyncRefused(what)
  return { what, key, kept: settings.prefix + key, fingerprint: fingerprint(options.input, what), origin }
}

/** Refused before it is called: what comes after its first `await` would be written outside the transaction. */
function isAsyncFunction(fn: unknown): boolean {
  return Object.prototype.toString.call(fn) === '[object AsyncFunction]'
}

function checkOrigin({ job, runKey, resource, token }: EffectOrigin): void {
  checkFence(`Job '${job}', run '${runKey}'`, resource, token)
}

function checkFence(what: string, resource: string, token: number): void {
  checkText(resource, `${what}: the resource`, 1, LIMITS.resourceCharacters)
  if (Number.isSafeInteger(token) && token > 0) return
  throw effectInvalid(what, `its token is ${token}; a token is a whole number from 1 to 2^53 - 1.`)
}

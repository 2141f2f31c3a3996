import { FleetcronError } from '../errors.js'
import type { Fleet } from '../fleet/fleet.js'

/** What answers without the store, and before the start. */
const AT_ONCE = new Set<string | symbol>([
  'name',
  'effects',
  'job',
  'schedules',
  'handler',
  'start',
  'stop',
  'health',
  'on',
  'once',
])

/** Makes every command of `fleet`, and of what hangs on it, wait for `ready` first. */
export function afterReady(fleet: Fleet, ready: () => Promise<void>): Fleet {
  return guard(fleet, (key) => AT_ONCE.has(key), ready) as Fleet
}

function guard(target: object, isFree: (key: string | symbol) => boolean, ready: () => Promise<void>): object {
  const made = new Map<string | symbol, unknown>()
  return new Proxy(target, {
    get(_, key) {
      const value: unknown = Reflect.get(target, key, target)
      if (typeof value === 'function') {
        if (!made.has(key)) {
          const call = value.bind(target)
          made.set(key, isFree(key) ? call : (...given: unknown[]) => ready().then(() => call(...given)))
        }
        return made.get(key)
      }
      if (typeof value !== 'object' || value === null || isFree(key)) return value
      return guard(value, () => false, ready)
    },
  })
}

/** What stands for the fleet where none is named: asking it anything says so. */
export function absentFleet(): Fleet {
  const refuse = (asked: string) => {
    const message =
      `There is no fleet to ask for ${asked}: FleetModule.forRoot() without \`fleet\` and \`store\` is plain ` +
      "@nestjs/schedule. Name both: FleetModule.forRoot({ fleet: 'billing', store: process.env.DATABASE_URL })."
    return new FleetcronError('NOT_STARTED', message)
  }
  // Nest looks at what it injects: only what a fleet has is answered.
  const commands = [
    'poke',
    'trigger',
    'finished',
    'backfill',
    'pause',
    'resume',
    'retire',
    'cancel',
    'retry',
    'jobs',
    'runs',
  ]
  const others = ['occurrence', 'history', 'start', 'once']
  const asynchronous = [...commands, ...others].map((name) => [name, async () => Promise.reject(refuse(`${name}()`))])
  const throwing = ['job', 'handler', 'on'].map((name) => [
    name,
    () => {
      throw refuse(`${name}()`)
    },
  ])
  const verbs = ['ensure', 'upsert', 'get', 'list', 'remove', 'pause', 'resume']
  const kept = verbs.map((name) => [name, async () => Promise.reject(refuse(`schedules.${name}()`))])
  const schedules = Object.fromEntries(kept)
  const fleet = { name: 'local', schedules, health: () => null, stop: async () => undefined }
  return Object.assign(fleet, Object.fromEntries([...asynchronous, ...throwing])) as unknown as Fleet
}

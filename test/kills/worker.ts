import { once } from 'node:events'
import { request } from 'node:http'
import { createInterface } from 'node:readline'
import type { CallOptions, Found } from '../../src/effect/call/face.js'
import { createEffects } from '../../src/effect/effects.js'
import type { BoundEffects, EffectAdapter, EffectClock } from '../../src/effect/port.js'
import { openBusiness } from './business.js'
import { type Grade, type Turn, type Unit, unitsOf, type WorkerConfig } from './points.js'

/** How long a sending may take: short, since the next process waits until a killed one cannot be sending. No pause is as long. */
const TIMEOUT_MS = 2_100
/** Pauses are cut to this, so that an outcome is asked for again soon; five of them are longer than a sending may take. */
const LONGEST_PAUSE_MS = 700
/** A sender that took longer than this since it asked for the right to send asks again: a busy machine is no such one. */
const LEASE_MS = 1_000

/** The signal's timer keeps no process alive: its standard input does. */
const CLOCK: EffectClock = {
  monotonic: () => performance.now(),
  random: Math.random,
  after(delayMs, fn) {
    const isTimeout = delayMs === TIMEOUT_MS
    const over = AbortSignal.timeout(isTimeout ? delayMs : Math.min(delayMs, LONGEST_PAUSE_MS))
    over.addEventListener('abort', fn)
    return { cancel: () => over.removeEventListener('abort', fn) }
  },
}

/**
 * Waits for its turn, then makes the effects of a round one after the other. It finishes the unit that its predecessor was
 * killed in, and is killed at the point of the next one: by itself, or, once the provider has committed, by the driver.
 */
export async function main([json = '']: readonly string[]): Promise<void> {
  const config = JSON.parse(json) as WorkerConfig
  const business = await openBusiness(config.database)
  const hooks = { point: '', transactions: 0 }
  const reach = (point: string) => {
    if (point === hooks.point) process.kill(process.pid, 'SIGKILL')
  }
  const effects = createEffects(withHooks(business.adapter, hooks, reach), { clock: CLOCK })
  const turn = await turnCame()
  const units = unitsOf(turn.count)
  await effects.raise('kills/job', turn.token)
  const run = effects.bind({
    fleet: 'kills',
    job: 'job',
    runKey: 'run',
    resource: 'kills/job',
    token: turn.token,
    attempt: turn.token,
    fence: true,
    leaseMs: LEASE_MS,
    signal: new AbortController().signal,
  })
  for (let i = turn.from; i < units.length; i++) {
    const unit = units[i] as Unit
    hooks.point = i === turn.from && turn.finishes ? '' : unit.point
    hooks.transactions = 0
    process.stdout.write(`${JSON.stringify({ unit: i, dies: hooks.point !== '' })}\n`)
    if (unit.kind === 'once') {
      await run.once(unit.key, (tx) => inside(business.write(tx, unit.key), () => reach('inside')))
    } else {
      await call(run, config.provider, unit.kind, unit.key, reach)
    }
  }
  await business.close()
  process.stdin.destroy()
}

async function turnCame(): Promise<Turn> {
  const lines = createInterface({ input: process.stdin })
  // Nobody is left to give it a turn.
  process.stdin.once('end', () => process.exit(1))
  const [line] = (await once(lines, 'line')) as [string]
  return JSON.parse(line) as Turn
}

function inside(written: unknown, then: () => void): unknown {
  return written instanceof Promise ? written.then(then) : then()
}

/** What has no look-up and no key that lasts stays uncertain when its process was killed: that is its grade. */
async function call(run: BoundEffects, provider: string, grade: Grade, key: string, reach: (point: string) => void) {
  try {
    await run.call(key, optionsOf(provider, grade, key, reach))
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'EFFECT_UNCERTAIN') throw error
  }
}

function optionsOf(provider: string, grade: Grade, key: string, reach: (point: string) => void): CallOptions<unknown> {
  const body = JSON.stringify({ reference: key, amount: 1_250, currency: 'EUR' })
  return {
    timeout: TIMEOUT_MS,
    keyValidFor: grade === 'keyed' ? '1h' : 0,
    async send({ idempotencyKey }) {
      const headers = grade === 'keyed' ? { 'Idempotency-Key': idempotencyKey } : {}
      const { status, text } = await http(provider, 'POST', '/charges', { headers, body, sent: () => reach('in-send') })
      if (status >= 300) throw new Error(`the provider answered ${status}`)
      return JSON.parse(text)
    },
    ...(grade === 'look-up' && { find: () => find(provider, key) }),
  }
}

async function find(provider: string, key: string): Promise<Found<unknown>> {
  const { status, text } = await http(provider, 'GET', `/charges?reference=${encodeURIComponent(key)}`, {})
  if (status === 404) return { state: 'absent' }
  return status === 200 ? { state: 'found', result: JSON.parse(text) } : { state: 'unknown' }
}

interface Sending {
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** The request has left this process. */
  readonly sent?: () => void
}

function http(provider: string, method: string, path: string, { headers, body, sent }: Sending) {
  return new Promise<{ readonly status: number; readonly text: string }>((resolve, reject) => {
    const call = request(`${provider}${path}`, { method, headers: { ...headers } }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
      response.on('error', reject)
    })
    call.on('error', reject)
    call.on('finish', () => sent?.())
    call.end(body)
  })
}

/** Each transaction has a point before and after it; of a call the first is its intent and the second its confirmation. */
function withHooks<Tx>(
  adapter: EffectAdapter<Tx>,
  hooks: { transactions: number },
  reach: (point: string) => void,
): EffectAdapter<Tx> {
  const before = () => {
    reach('before-begin')
    reach(hooks.transactions === 0 ? 'before-intent' : 'before-confirm')
  }
  const after = () => {
    reach('after-commit')
    reach(hooks.transactions === 0 ? 'after-intent' : 'after-confirm')
    hooks.transactions += 1
  }
  if (adapter.sync) {
    return {
      ...adapter,
      transaction<R>(fn: (tx: Tx) => R): R {
        before()
        const value = adapter.transaction((tx) => {
          const made = fn(tx)
          reach('before-commit')
          return made
        })
        after()
        return value
      },
    }
  }
  return {
    ...adapter,
    async transaction<R>(fn: (tx: Tx) => Promise<R>): Promise<R> {
      before()
      const value = await adapter.transaction(async (tx) => {
        const made = await fn(tx)
        reach('before-commit')
        return made
      })
      after()
      return value
    },
  }
}

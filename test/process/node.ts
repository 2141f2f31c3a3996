import { writeSync } from 'node:fs'
import { createFleet, type Run } from '../../src/index.js'
import type { Store } from '../../src/store/port.js'
import { resolveStore } from '../../src/store/resolve.js'
import { openBusiness } from './business.js'
import type { NodeConfig, Point } from './config.js'

/**
 * One process of a fleet, for the tests that kill and stop processes. It says what it does as JSON lines, written
 * synchronously, and sends itself the signal at the point it was told: nothing happens between the two.
 */
const config = JSON.parse(process.env.NODE_CONFIG ?? '{}') as NodeConfig

function say(event: string, fields: object = {}): void {
  writeSync(1, `${JSON.stringify({ event, node: config.name, at: Date.now(), ...fields })}\n`)
}

let isHit = false

function hit(point: Point): void {
  if (isHit || config.point !== point || config.signal === undefined) return
  isHit = true
  say('hit', { point })
  process.kill(process.pid, config.signal)
}

/** Faults belong in a wrapping store: the points are between the calls, as the loop sees them. */
function withPoints(store: Store): Store {
  const attend: Store['attend'] = async (...args) => {
    const reply = await store.attend(...args)
    if (reply.jobs.length > 0) hit('after-attend')
    return reply
  }
  const commit: Store['commit'] = async (...args) => {
    const reply = await store.commit(...args)
    if (args[2].some((change) => change.runs.some(({ run }) => run.state === 'running'))) hit('after-commit')
    return reply
  }
  const settle: Store['settle'] = async (...args) => {
    hit(isStopping ? 'during-stop' : 'before-settle')
    const reply = await store.settle(...args)
    hit('after-settle')
    return reply
  }
  return new Proxy(store, {
    get(target, name) {
      if (name === 'attend') return attend
      if (name === 'commit') return commit
      if (name === 'settle') return settle
      const value = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

const business = openBusiness(config.business)

let isStopping = false

async function bill(run: Run): Promise<void> {
  say('started', { attempt: run.attempt, token: run.token })
  run.signal.addEventListener('abort', () => say('aborted', { attempt: run.attempt }))
  hit('in-handler')
  for (let customer = 1; customer <= config.customers; customer++) {
    try {
      await run.once(`invoice:${customer}:${run.date}`, (tx) =>
        business.bill(tx, [String(customer), run.date, config.name], () => {
          if (customer === 2) hit('inside-effect')
        }),
      )
    } catch (error) {
      say('refused', { code: (error as { code?: string }).code ?? (error as Error).name, customer })
      throw error
    }
    if (customer === 2) hit('after-effect')
    if (customer === 2 && config.point === 'during-stop') void stop(0)
    // A turn of the event loop, as a customer's data would take to load.
    await new Promise((resolve) => setImmediate(resolve))
    if (isStopping) run.signal.throwIfAborted()
  }
}

async function stop(graceMs: number): Promise<void> {
  if (isStopping) return
  isStopping = true
  await fleet.stop({ grace: graceMs })
  say('stopped')
  await business.close()
  process.disconnect?.()
}

const store = withPoints(await resolveStore(config.ledger, config.fleet))
const fleet = createFleet({
  fleet: config.fleet,
  service: 'billing',
  store,
  effects: business.effects,
  lease: config.leaseMs,
})
fleet.on('committed', ({ granted }) => granted.length > 0 && say('granted', { attempt: granted[0]?.attempt }))
fleet.on('session-lost', (loss) => say('session-lost', { why: loss.why, blockedMs: loss.blockedMs }))
fleet.on('run-settled', ({ attempt, outcome, result }) => say('settled', { attempt, outcome, result }))
process.on('SIGTERM', () => void stop(10_000))
process.on('disconnect', () => process.exit(0))

/** Loading the program takes as long as the machine likes; the test's time begins when the node is told to start. */
process.once('message', async (due: string) => {
  fleet.job('daily-invoices', { at: due, timeZone: 'UTC', catchUp: { policy: 'each', within: '1h' } }, bill)
  await fleet.start()
  say('ready')
})
say('loaded')

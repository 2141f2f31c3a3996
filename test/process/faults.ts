import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Run } from '../../src/ledger/types.js'
import { resolveStore } from '../../src/store/resolve.js'
import { bundle, Child } from './children.js'
import { type NodeConfig, POINTS, type Point } from './config.js'

/** Where the scenes of one file keep their ledgers. */
export interface Faults {
  /** The URL of a ledger for one scene, whose own folder is given. */
  readonly ledger: (folder: string) => string | Promise<string>
  /** Steps at which a node is killed, and at which it is stopped. */
  readonly killed: readonly Point[]
  readonly stopped: readonly Point[]
  /** An empty business database on a server, with the table `invoice`. Default: a file of the scene's. */
  readonly business?: () => Promise<SceneBusiness>
}

interface SceneBusiness {
  readonly url: string
  rows<Row>(sql: string): Promise<Row[]>
  close(): Promise<void>
}

/**
 * Real processes, real signals: a node is killed, or stopped for longer than its lease, between any two steps of its work.
 * Another takes over within the lease and a second; every customer has exactly one invoice; what the stopped node still
 * writes afterwards is refused.
 */
const LEASE_MS = 2_000

/**
 * The next attempt begins before the beat that a node without runs sends every 10 s: something looked at the lease's end. How soon
 * after it is measured by the bench, on a machine with nothing else to do.
 */
const TAKEN_OVER_MS = LEASE_MS + 6_000
const CUSTOMERS = 3

/** Every step. */
export const EVERYWHERE = { killed: POINTS, stopped: POINTS } as const

/** The steps at which what the ledger's server does matters most: for stores whose tests take turns with many others. */
export const WHERE_SERVERS_MATTER: Pick<Faults, 'killed' | 'stopped'> = {
  killed: ['after-commit', 'in-handler', 'before-settle', 'after-settle'],
  stopped: ['after-attend', 'after-commit', 'in-handler', 'before-settle', 'after-settle', 'during-stop'],
}

let script = ''

/** Kills and stops nodes over ledgers of one store. */
export function processFaults(faults: Faults): void {
  beforeAll(async () => {
    script = await bundle('node')
  })
  afterAll(() => rmSync(script, { force: true }))
  killing(faults)
  stopping(faults)
}

function killing(faults: Faults): void {
  describe.concurrent('SIGKILL', () => {
    test.each(unfinished(faults.killed))('%s: taken over within the lease, one invoice each', async (point) => {
      await withScene(faults, point, 'SIGKILL', async ({ first, second, ledger, invoices }) => {
        const hit = await first.next('hit')
        await first.gone()
        const next = second()
        const started = await next.next('started')
        expect(started.at - hit.at).toBeLessThan(TAKEN_OVER_MS)
        expect(await next.next('settled')).toMatchObject({ outcome: 'succeeded', result: 'settled' })
        await end(next)
        expect(await ledger()).toMatchObject({ state: 'succeeded', token: started.token })
        expect(await invoices()).toEqual(oneEach())
      })
    })

    test.each(only('after-settle', faults.killed))(
      '%s: nothing is left to do, and nothing is done again',
      async (point) => {
        await withScene(faults, point, 'SIGKILL', async ({ first, second, ledger, invoices }) => {
          await first.next('hit')
          await first.gone()
          const next = second()
          await next.next('ready')
          await end(next)
          expect(next.said.map((said) => said.event)).not.toContain('started')
          expect(await ledger()).toMatchObject({ state: 'succeeded', attempt: 1 })
          expect(await invoices()).toEqual(oneEach())
        })
      },
    )
  })
}

function stopping(faults: Faults): void {
  describe.concurrent('SIGSTOP for longer than the lease, then SIGCONT', () => {
    test.each(unfinished(faults.stopped).filter((point) => point !== 'inside-effect'))(
      '%s: the late node writes nothing',
      async (point) => {
        await withScene(faults, point, 'SIGSTOP', async ({ first, second, ledger, invoices }) => {
          const hit = await first.next('hit')
          const next = second()
          const started = await next.next('started')
          expect(started.at - hit.at).toBeLessThan(TAKEN_OVER_MS)
          expect(await next.next('settled')).toMatchObject({ outcome: 'succeeded', result: 'settled' })
          first.signal('SIGCONT')
          await lateNode(first, point)
          await end(first)
          await end(next)
          expect(await ledger()).toMatchObject({ state: 'succeeded', token: started.token })
          expect(await invoices()).toEqual(oneEach())
        })
      },
    )

    test.each(only('inside-effect', faults.stopped))(
      '%s: the file waits for the stopped transaction, which counts; the other reuses it',
      async (point) => {
        await withScene(faults, point, 'SIGSTOP', async ({ first, second, ledger, invoices }) => {
          await first.next('hit')
          const next = second()
          await next.next('granted')
          first.signal('SIGCONT')
          expect(await next.next('settled')).toMatchObject({ outcome: 'succeeded', result: 'settled' })
          await first.next('refused')
          await end(first)
          await end(next)
          expect(await ledger()).toMatchObject({ state: 'succeeded', attempt: 2 })
          expect(await invoices()).toEqual(oneEach())
        })
      },
    )

    test.each(only('after-settle', faults.stopped))('%s: it finds that its outcome was recorded', async (point) => {
      await withScene(faults, point, 'SIGSTOP', async ({ first, second, ledger, invoices }) => {
        await first.next('hit')
        const next = second()
        await next.next('ready')
        first.signal('SIGCONT')
        expect(await first.next('settled')).toMatchObject({ outcome: 'succeeded', result: 'settled' })
        await end(first)
        await end(next)
        expect(await ledger()).toMatchObject({ state: 'succeeded', attempt: 1 })
        expect(await invoices()).toEqual(oneEach())
      })
    })
  })
}

/** Stops nodes inside a transaction of a business database that can cut them off. */
export function stoppedInside(faults: Pick<Faults, 'ledger' | 'business'>): void {
  beforeAll(async () => {
    script = await bundle('node')
  })
  afterAll(() => rmSync(script, { force: true }))

  test('SIGSTOP inside an effect: the server cuts the node off within the lease, and its late commit fails', async () => {
    const scene = { ...faults, killed: [], stopped: [] }
    await withScene(scene, 'inside-effect', 'SIGSTOP', async ({ first, second, ledger, invoices }) => {
      const hit = await first.next('hit')
      const next = second()
      const started = await next.next('started')
      expect(started.at - hit.at).toBeLessThan(TAKEN_OVER_MS)
      expect(await next.next('settled')).toMatchObject({ outcome: 'succeeded', result: 'settled' })
      first.signal('SIGCONT')
      expect(await first.next('refused')).toMatchObject({ code: 'EFFECT_UNAVAILABLE', customer: 2 })
      await first.next('session-lost')
      await end(first)
      await end(next)
      expect(await ledger()).toMatchObject({ state: 'succeeded', attempt: 2, token: started.token })
      expect(await invoices()).toEqual(oneEach())
    })
  })
}

/** Steps at which the run is not finished yet, so that somebody has to take it over. */
function unfinished(points: readonly Point[]): Point[] {
  return points.filter((point) => point !== 'after-settle')
}

function only(point: Point, points: readonly Point[]): Point[] {
  return points.filter((one) => one === point)
}

/** What a node that was stopped at this point has to find out by itself when it goes on. */
async function lateNode(node: Child, point: Point): Promise<void> {
  if (point === 'in-handler' || point === 'after-effect') {
    expect(await node.next('refused')).toMatchObject({ node: 'first' })
    expect(await node.next('session-lost')).toMatchObject({ node: 'first' })
  } else if (point === 'before-settle') {
    expect(await node.next('settled')).toMatchObject({ result: 'lost' })
  } else if (point === 'during-stop') {
    await node.next('stopped')
  } else {
    // After the attend it holds no run, so its session goes on; after the commit it held one, and lost it with the session.
    if (point === 'after-commit') await node.next('session-lost')
    expect(node.said.map((said) => said.event)).not.toContain('started')
  }
}

interface Scene {
  readonly first: Child
  /** Starts the successor. */
  readonly second: () => Child
  readonly ledger: () => Promise<Run>
  readonly invoices: () => Promise<unknown[]>
}

async function withScene(
  faults: Faults,
  point: Point,
  signal: NodeConfig['signal'] & string,
  act: (scene: Scene) => Promise<void>,
) {
  const folder = mkdtempSync(join(tmpdir(), 'fleetcron-'))
  const fleet = `process-test-${randomUUID().slice(0, 8)}`
  const ledger = await faults.ledger(folder)
  const business = faults.business ? await faults.business() : inFile(join(folder, 'business.db'))
  const shared = { ledger, fleet, business: business.url, leaseMs: LEASE_MS, customers: CUSTOMERS }
  const children: Child[] = []
  const load = (config: NodeConfig): Child => {
    const child = new Child(script, config)
    children.push(child)
    return child
  }
  try {
    const first = load({ ...shared, name: 'first', point, signal })
    const second = load({ ...shared, name: 'second' })
    await Promise.all([first.next('loaded'), second.next('loaded')])
    const due = new Date(Date.now() + 8_000).toISOString()
    first.start(due)
    await act({
      first,
      second: () => {
        second.start(due)
        return second
      },
      ledger: () => onlyRun(ledger, fleet),
      invoices: () =>
        business
          .rows<{ customer: string; invoices: unknown }>(COUNT)
          .then((rows) => rows.map(({ customer, invoices }) => ({ customer, invoices: Number(invoices) }))),
    })
  } finally {
    for (const child of children) child.signal('SIGKILL')
    await Promise.all(children.map((child) => child.gone()))
    await business.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

const COUNT = 'SELECT customer, count(*) AS invoices FROM invoice GROUP BY customer ORDER BY customer'

/** The one run that there is. */
async function onlyRun(url: string, fleet: string): Promise<Run> {
  const store = await resolveStore(url, fleet)
  await store.open()
  const [run, ...more] = await store.runs({ limit: 10 })
  await store.close()
  expect(more).toEqual([])
  if (!run) throw new Error('the ledger has no run')
  return run
}

async function end(child: Child): Promise<void> {
  child.signal('SIGTERM')
  await child.next('stopped')
  await child.gone()
}

function oneEach(): unknown[] {
  return Array.from({ length: CUSTOMERS }, (_, index) => ({ customer: String(index + 1), invoices: 1 }))
}

function inFile(path: string): SceneBusiness {
  return {
    url: path,
    async rows<Row>(sql: string) {
      const database = new Database(path, { readonly: true })
      try {
        return database.prepare(sql).all() as Row[]
      } finally {
        database.close()
      }
    },
    async close() {},
  }
}

import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { FleetcronError } from 'fleetcron'
import { CsvError } from '../shared/csv.js'
import { type Customer, readCustomers } from '../shared/customers.js'
import { openDatabase } from '../shared/database.js'
import { Books } from './books.js'
import { Cashier } from './cashier.js'
import { tableOfCharges, withCharges } from './charges.js'
import { Dice } from './dice.js'
import { type DemoOptions, readOptions, USAGE, UsageError } from './options.js'
import { play } from './plot.js'
import { type Reckoning, reckon, tableOf } from './reckoning.js'
import { DemoFailure, Stage } from './stage.js'
import { ledgerPlace, sqlitePlace } from './stores.js'
import { Story } from './story.js'

/** Two seconds, so that one can watch a takeover; a lease is ten seconds unless a fleet says otherwise. */
const LEASE_MS = 2_000
/** A kill after some and before all invoices needs two. */
const FEWEST_CUSTOMERS = 2
/** More could not be billed within the two seconds of a period. */
const MOST_CUSTOMERS = 2_000
/** So many can be charged, too, within a period: each takes a request and three transactions. */
const MOST_CHARGED = 40

export interface Places {
  /** The scripts of the two applications. */
  readonly fleetScript: string
  readonly plainScript: string
  /** Where servers are started and ended. */
  readonly serversScript: string
  /** The command line of fleetcron. */
  readonly cliScript: string
  /** The customers that come with the example. */
  readonly customers: string
}

/** The whole demonstration. Returns the exit code: 0 when all is right, 1 when not, 2 when it was asked in a wrong way. */
export async function runDemo(args: readonly string[], places: Places): Promise<number> {
  try {
    const options = readOptions(args, Math.floor(Math.random() * 1_000_000))
    if (options !== null) return await perform(options, places)
    console.log(USAGE)
    return 0
  } catch (error) {
    const isUsers = error instanceof UsageError || error instanceof CsvError
    if (!isUsers && !(error instanceof DemoFailure || error instanceof FleetcronError)) throw error
    console.error(`demo: ${error.message}`)
    return isUsers ? 2 : 1
  }
}

async function perform(options: DemoOptions, places: Places): Promise<number> {
  const customersFile = resolve(options.customers ?? places.customers)
  const most = options.provider ? MOST_CHARGED : null
  const charged = customersOf(customersFile).slice(0, most ?? undefined)
  const customers = charged.length
  const folder = prepareFolder(options.keep)
  const database = join(folder, 'billing.db')
  const ledger = await (options.plain
    ? sqlitePlace(join(folder, 'ledger.db'), 'plain')
    : ledgerPlace(options.store, folder, { servers: places.serversScript, cli: places.cliScript }))
  const cashier = options.provider ? await Cashier.start(join(folder, 'provider.db')) : null
  const story = new Story(console.log)
  const stage = new Stage({
    script: options.plain ? places.plainScript : places.fleetScript,
    config: {
      database,
      ledger: ledger.url,
      fleet: ledger.fleet,
      customers: customersFile,
      most,
      provider: cashier?.url ?? null,
      leaseMs: LEASE_MS,
    },
    logs: options.keep === null ? null : join(folder, 'logs'),
    heard: (heard) => story.hear(heard),
  })
  const { withinMs } = options
  const tooLate = () => stage.fail(new DemoFailure(`not finished within ${withinMs / 1000} s`))
  const deadline = setTimeout(tooLate, withinMs)
  const cleanUp = () => {
    if (options.keep === null) rmSync(folder, { recursive: true, force: true })
  }
  const letGo = endWithSignals(stage, async () => {
    await ledger.end()
    await cashier?.stop()
    cleanUp()
  })
  let books: Books | null = null
  try {
    introduce(options, customers)
    openDatabase(database).close()
    books = new Books(database, await ledger.read())
    const guarded = !options.plain
    const dice = new Dice(options.seed)
    const files = ledger.file === null ? [database] : [database, ledger.file]
    const server = options.restartServer ? ledger.server : null
    const common = { cashier, customers, leaseMs: LEASE_MS, guarded, background: [] }
    const deeds = await play({ stage, story, dice, books, files, server, ...common })
    const pids = stage.nodes.map((node) => node.pid)
    const facts = { books, deeds, customers, leaseMs: LEASE_MS, pids, store: options.store }
    const reckoning = await reckon(facts, guarded)
    return report(cashier === null ? reckoning : withCharges(reckoning, facts, cashier, charged), stage, options)
  } finally {
    clearTimeout(deadline)
    await stage.clear()
    stage.fail(new DemoFailure('the play is over'))
    // A connection that stays open keeps a demonstration from ending that has failed.
    await books?.close().catch(() => undefined)
    await ledger.end()
    await cashier?.stop()
    letGo()
    cleanUp()
  }
}

function introduce({ seed, plain, provider, store }: DemoOptions, customers: number): void {
  const where = store.replace(/:.*/, ' of the URL given')
  const how = plain
    ? `@nestjs/schedule and a lock that expires after ${LEASE_MS / 1000} s`
    : `Fleetcron, ledger in ${where}, lease ${LEASE_MS / 1000} s (10 s unless a fleet says otherwise)`
  const charging = provider ? ', charged at a payment provider' : ''
  console.log(`${customers} customers${charging}, a period every 2 s, three processes; ${how}; --seed ${seed}\n`)
}

function report({ rows, charges, result, checks }: Reckoning, stage: Stage, options: DemoOptions): number {
  console.log(`\n${tableOf(rows, (pid) => stage.byPid(pid)?.name ?? `#${pid}`)}\n`)
  if (charges !== undefined) console.log(`At the payment provider:\n${tableOfCharges(charges)}\n`)
  for (const [sentence, holds] of checks) console.log(`${holds ? '  ok  ' : 'WRONG '} ${sentence}`)
  if (options.keep !== null) console.log(`\nThe files are in ${options.keep}.`)
  const isRight = checks.every(([, holds]) => holds)
  if (options.json) console.log(JSON.stringify(result))
  return isRight ? 0 : 1
}

function customersOf(path: string): Customer[] {
  let found: Customer[]
  try {
    found = readCustomers(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (error instanceof CsvError || code === undefined) throw error
    throw new UsageError(`--customers: ${path} cannot be read (${code})`)
  }
  const count = found.length
  if (count > MOST_CUSTOMERS) {
    const why = `a period of two seconds has time for ${MOST_CUSTOMERS} at most`
    throw new UsageError(`--customers: ${path} has ${count} customers; ${why}`)
  }
  if (count >= FEWEST_CUSTOMERS) return found
  throw new UsageError(
    `--customers: ${path} has ${count} customers; a kill in mid-period needs at least ${FEWEST_CUSTOMERS}`,
  )
}

function prepareFolder(keep: string | null): string {
  if (keep === null) return mkdtempSync(join(tmpdir(), 'fleetcron-demo-'))
  const folder = resolve(keep)
  mkdirSync(folder, { recursive: true })
  const old = ['billing.db', 'ledger.db', 'provider.db'].find((name) => existsSync(join(folder, name)))
  if (old === undefined) return folder
  throw new UsageError(`--keep: ${keep} has a ${old} already; name another folder`)
}

/** Ctrl-C, and its likes, leave nothing running and nothing lying about. Returns how to undo that. */
function endWithSignals(stage: Stage, cleanUp: () => Promise<void>): () => void {
  const codes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const
  const signals = Object.keys(codes) as (keyof typeof codes)[]
  const end = async (signal: NodeJS.Signals) => {
    await stage.clear()
    await cleanUp()
    console.error(`demo: ended by ${signal}`)
    process.exit(codes[signal as keyof typeof codes])
  }
  for (const signal of signals) process.once(signal, end)
  return () => {
    for (const signal of signals) process.off(signal, end)
  }
}

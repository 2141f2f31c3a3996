import { Provider } from '../../examples/billing/provider/server.js'
import { createEffects } from '../../src/effect/effects.js'
import { Books, type KillResult } from './books.js'
import { type Business, LINES, openBusiness } from './business.js'
import { type Unit, unitsOf } from './points.js'
import { type Going, Spares } from './spares.js'

export interface KillRound {
  readonly kills: number
  /** Where the books are left: see `Books`. */
  readonly folder: string
  /** An empty business database on a server, by its URL; left out: a SQLite file in the folder. */
  readonly database?: string
  /** The bundled worker. */
  readonly script: string
}

/** Kills one process for each unit, at its point, and lets the next one go on; then counts what is in the books. */
export async function playRound({ kills, folder, database, script }: KillRound): Promise<KillResult> {
  const books = new Books(folder)
  const where = database ?? books.business
  const business = await openBusiness(where)
  let units: readonly Unit[] = []
  let going: Going | null = null
  let dying: Unit | null = null
  // By the charge alone: it may be heard of before the line in which its sender says what it does.
  const struck = new Set<string>()
  const charged = (reference: string) => {
    const isToDie = units.some(({ key, point }) => key === reference && point === 'provider-committed')
    if (!isToDie || struck.has(reference)) return
    struck.add(reference)
    going?.kill()
  }
  const provider = await Provider.start({ file: books.provider, keepMs: 3_600_000, charged })
  const spares = new Spares(script, { database: where, provider: provider.url })
  try {
    await prepare(business)
    let from = 0
    // On a busy machine a process may give up a request before it reaches its point: others are killed in its stead.
    for (let token = 1, finishes = false; ; token++) {
      if (from === units.length) {
        const left = kills - books.kills
        if (left === 0) break
        units = unitsOf(units.length + left)
        books.plan(units)
        finishes = false
      }
      going = spares.go({ from, count: units.length, finishes, token }, (line) => {
        const { unit, dies } = JSON.parse(line) as { unit: number; dies: boolean }
        from = unit
        dying = dies ? (units[unit] as Unit) : null
      })
      const [code, signal] = await going.ended
      finishes = true
      if (code === 0) from = units.length
      else if (signal === 'SIGKILL' && dying !== null) books.killed(dying)
      else throw new Error(`a worker ended with ${signal ?? `code ${code}`}`)
    }
    books.listed(await uncertainIn(business))
    if (database !== undefined) await books.copy(business.rows)
    return books.reckon()
  } finally {
    spares.end()
    await provider.stop()
    await business.close()
    books.close()
  }
}

async function prepare(business: Business): Promise<void> {
  await createEffects(business.adapter).ensure()
  await business.rows(LINES)
  const [row] = await business.rows('SELECT count(*) AS count FROM line')
  if (Number(row?.count) > 0) throw new Error('This business database is of an earlier round: name an empty one.')
}

/** Far more than it takes until no sender can be sending any more. */
const PATIENCE_MS = 20_000

/** What is listed once the last sender, which is dead, cannot be sending any more. */
async function uncertainIn(business: Business): Promise<readonly string[]> {
  const effects = createEffects(business.adapter)
  const giveUpAt = performance.now() + PATIENCE_MS
  for (;;) {
    const listed = await effects.uncertain(1_000_000)
    const [row] = await business.rows(`SELECT count(*) AS count FROM fleetcron_effect WHERE state = 'intended'`)
    const intended = listed.filter(({ state }) => state === 'intended').length
    if (intended >= Number(row?.count) || performance.now() > giveUpAt) return listed.map(({ key }) => key)
  }
}

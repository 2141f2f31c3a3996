import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import Database from 'better-sqlite3'
import { Provider } from '../../examples/billing/provider/server.js'
import { createEffects } from '../../src/effect/effects.js'
import { type Business, LINES, openBusiness } from './business.js'
import { nameOf, type Unit, unitsOf, type WorkerConfig } from './points.js'

export interface KillRound {
  readonly kills: number
  /** Where the two databases are left. */
  readonly folder: string
  /** The business database: a SQLite file in the folder, or a server's URL. */
  readonly database?: string
  /** The bundled worker. */
  readonly script: string
}

/** What is counted by SQL when all processes have ended. */
export interface KillResult {
  readonly kills: number
  readonly points: Readonly<Record<string, number>>
  readonly doubleEffects: number
  readonly lost: number
  readonly uncertain: number
  readonly uncertainListed: number
}

/** Kills one process for each unit, at its point, and lets the next one go on; then counts what is in the two databases. */
export async function playRound({ kills, folder, database, script }: KillRound): Promise<KillResult> {
  const units = unitsOf(kills)
  const where = database ?? join(folder, 'business.db')
  const business = openBusiness(where)
  await createEffects(business.adapter).ensure()
  await business.rows(LINES)
  const points: Record<string, number> = {}
  let child: ChildProcess | null = null
  let dying: Unit | null = null
  const charged = (reference: string) => {
    if (dying?.point === 'provider-committed' && dying.key === reference) child?.kill('SIGKILL')
  }
  const book = join(folder, 'provider.db')
  const provider = await Provider.start({ file: book, keepMs: 3_600_000, charged })
  try {
    let from = 0
    for (let token = 1; ; token++) {
      const config: WorkerConfig = { database: where, provider: provider.url, kills, from, token }
      child = spawn(process.execPath, [script, JSON.stringify(config)], { stdio: ['ignore', 'pipe', 'inherit'] })
      const ended = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>
      const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })
      lines.on('line', (line) => {
        const { unit, dies } = JSON.parse(line) as { unit: number; dies: boolean }
        from = unit
        dying = dies ? (units[unit] as Unit) : null
      })
      const [code, signal] = await ended
      if (code === 0) break
      if (signal !== 'SIGKILL' || dying === null) throw new Error(`a worker ended with ${signal ?? `code ${code}`}`)
      const name = nameOf(dying)
      points[name] = (points[name] ?? 0) + 1
    }
    return await reckon(units, business, book, points)
  } finally {
    await provider.stop()
    await business.close()
  }
}

async function reckon(
  units: readonly Unit[],
  business: Business,
  book: string,
  points: Readonly<Record<string, number>>,
): Promise<KillResult> {
  const provider = new Database(book, { readonly: true })
  const made = counted([
    ...(await business.rows('SELECT effect AS name, COUNT(*) AS times FROM line GROUP BY effect')),
    ...(provider.prepare('SELECT reference AS name, COUNT(*) AS times FROM charge GROUP BY reference').all() as Row[]),
  ])
  provider.close()
  const key = business.adapter.dialect === 'mysql' ? '`key`' : 'key'
  const open = await business.rows(
    `SELECT ${key} AS name, 1 AS times FROM fleetcron_effect WHERE state IN ('intended', 'uncertain')`,
  )
  const uncertain = counted(open)
  const listed = await createEffects(business.adapter).uncertain(1_000_000)
  const isLost = (unit: Unit) => !made.has(unit.key) && !uncertain.has(unit.key)
  return {
    kills: Object.values(points).reduce((sum, times) => sum + times, 0),
    points,
    doubleEffects: [...made.values()].filter((times) => times > 1).length,
    lost: units.filter(isLost).length,
    uncertain: uncertain.size,
    uncertainListed: listed.filter((each) => uncertain.has(each.key)).length,
  }
}

type Row = Record<string, unknown>

function counted(rows: readonly Row[]): Map<string, number> {
  return new Map(rows.map((row) => [String(row.name), Number(row.times)]))
}

import type { Change, Expected } from '../../ledger/types.js'
import type { Found } from '../guards.js'
import type { SessionRef } from '../port.js'
import { orNone } from './commit-message.js'
import { COMMIT_JUDGE } from './commit-statements.js'
import type { Ledger } from './ledger.js'
import { name, nameColumn, nameKey, names, rows as sqlRows } from './literal.js'
import { bytesAt, columnKeyAt, integerAt, textAt } from './rows.js'
import { type Self, selfOf, sessionParameters } from './sessions.js'

/** The rows that changes are held against. */
export async function foundOf(
  ledger: Ledger,
  session: SessionRef,
  changes: readonly Change[],
): Promise<{ self: Self; of: (change: Change) => Found }> {
  const { server } = ledger
  const runs = changes.flatMap(({ job, runs }) => runs.map(({ run }) => [name(job), name(run.key)]))
  const definitions = changes.map(({ job, header }) => [name(job), name(header.definition)])
  const { rows } = await server.read([
    server.sql(COMMIT_JUDGE, {
      ...sessionParameters(ledger, session),
      jobs: names(changes.map(({ job }) => job)),
      runs: orNone(runs.map((pair) => sqlRows([pair]))),
      events: names(changes.flatMap(({ events }) => events.map(({ id }) => id))),
      definitions: orNone(definitions.map((pair) => sqlRows([pair]))),
      attempts: names(changes.flatMap(({ runs }) => runs.flatMap(({ run }) => run.attemptId ?? []))),
    }),
  ])
  const found = rows[0] ?? []
  const part = (letter: string) => found.filter((row) => textAt(row, 0) === letter)
  const jobs = new Map(part('J').map((row) => [columnKeyAt(row, 1), row]))
  const byRun = new Map<string, Expected>(
    part('R').map((row) => [
      `${columnKeyAt(row, 1)} ${columnKeyAt(row, 2)}`,
      { state: textAt(row, 3) as Exclude<Expected, null>['state'], token: integerAt(row, 4) },
    ]),
  )
  const events = new Set(part('E').map((row) => columnKeyAt(row, 1)))
  const known = new Set(part('D').map((row) => `${columnKeyAt(row, 1)} ${columnKeyAt(row, 2)}`))
  const attempts = new Map(part('A').map((row) => [columnKeyAt(row, 1), row]))
  return {
    self: selfOf(found),
    of: ({ job, runs }) => {
      const row = jobs.get(nameKey(job))
      return {
        version: row ? textAt(row, 2) : null,
        settled: row ? integerAt(row, 3) : 0,
        run: (key) => byRun.get(`${nameKey(job)} ${nameKey(key)}`) ?? null,
        event: (id) => events.has(nameKey(id)),
        definition: (hash) => known.has(`${nameKey(job)} ${nameKey(hash)}`),
        attempt: (id) => {
          const row = attempts.get(nameKey(id))
          if (!row) return null
          const own = runs.find(({ run }) => nameKey(run.key) === columnKeyAt(row, 3))
          const isOwn = columnKeyAt(row, 2) === nameKey(job) && own !== undefined
          return isOwn
            ? { job, key: own.run.key }
            : { job: nameColumn(bytesAt(row, 2)), key: nameColumn(bytesAt(row, 3)) }
        },
      }
    },
  }
}

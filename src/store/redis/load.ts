import type { Aggregate, Run, StoredDefinition } from '../../ledger/types.js'
import type { Loaded, LoadQuery, Unreadable } from '../port.js'
import { readOr } from '../readable.js'
import type { Ledger } from './ledger.js'
import {
  type AggregateRow,
  aggregateOf,
  definitionOf,
  eventOf,
  inOrder,
  listArguments,
  type NodeColumns,
  nodeOf,
  runOf,
} from './rows.js'
import { LOAD } from './scripts/load.js'
import { script } from './server.js'

const SCRIPT = script(LOAD)

/** So many jobs, runs or events are loaded by one script; others are served before the next one. */
const PART = 500

type Answer = readonly [
  now: string,
  jobs: readonly AggregateRow[],
  definitions: readonly (readonly string[])[],
  runs: readonly (readonly [job: string, body: string, stop: string | null])[],
  events: readonly string[],
  nodes: readonly NodeColumns[],
]

export async function load(ledger: Ledger, query: LoadQuery): Promise<Loaded> {
  const { server, main } = ledger
  const jobs = new Map<string, Aggregate>()
  const definitions = new Map<string, readonly StoredDefinition[]>()
  const runs = new Map<string, Run>()
  const bad = new Map<string, Unreadable>()
  const answers: Answer[] = []
  for (const part of partsOf(query)) answers.push(await server.run<Answer>(main, SCRIPT, part))
  for (const [, rows, texts, found] of answers) {
    for (const [job, body, stop] of found) {
      readOr(
        () => {
          const run = runOf(body, stop)
          runs.set(`${run.key}\0${run.job}`, run)
        },
        (why) => void bad.set(job, { job, why }),
      )
    }
    for (const [index, row] of rows.entries()) {
      const [job] = row
      readOr(
        () => {
          const aggregate = aggregateOf(row)
          definitions.set(
            job,
            (texts[index] ?? []).map(definitionOf).sort((a, b) => a.seq - b.seq),
          )
          jobs.set(job, aggregate)
        },
        (why) => void bad.set(job, { job, why }),
      )
    }
  }
  return {
    // What was read first is as old as this.
    now: Number(answers[0]?.[0]),
    jobs,
    definitions,
    runs: [...runs.values()],
    unreadable: [...bad.values()],
    events: answers.flatMap(([, , , , texts]) => texts.map(eventOf)),
    nodes: answers.flatMap(([, , , , , rows]) =>
      inOrder(rows).flatMap((row) =>
        readOr(
          () => [nodeOf(row)],
          () => [],
        ),
      ),
    ),
  }
}

/** The arguments of each script, at least one. */
function partsOf({ jobs = [], attempts = [], keys = [], requests = [], nodes = false }: LoadQuery) {
  const lists = [
    [...new Set(jobs)],
    [...new Set(attempts)],
    keys.map(({ job, key }) => `${key}\0${job}`),
    [...new Set(requests)],
  ]
  const count = Math.max(1, ...lists.map((list) => Math.ceil(list.length / PART)))
  return Array.from({ length: count }, (_, part) => [
    ...lists.flatMap((list) => listArguments(list.slice(part * PART, (part + 1) * PART))),
    nodes && part === 0 ? '1' : '0',
  ])
}

import { FleetcronError } from '../errors.js'
import { decides } from '../ledger/index.js'
import type { Aggregate, Run } from '../ledger/types.js'
import { oneLine } from '../platform/told.js'
import type { NodeRow } from '../store/port.js'
import type { OpenLedger } from './ledger.js'

const PAGE = 500

/** Every job of the fleet, or of one service, by name. */
export async function allJobs({ store }: OpenLedger, service?: string): Promise<Aggregate[]> {
  const found: Aggregate[] = []
  for (;;) {
    const after = found.at(-1)?.header.job
    const page = await store.jobs({
      limit: PAGE,
      ...(service === undefined ? {} : { service }),
      ...(after === undefined ? {} : { after }),
    })
    found.push(...page)
    if (page.length < PAGE) return found
  }
}

/** Refuses a fleet of which the ledger has nothing: most often its name is written wrong. */
export function throwIfNobody({ fleet, info }: OpenLedger, jobs: readonly Aggregate[], nodes: readonly NodeRow[]) {
  if (jobs.length > 0 || nodes.length > 0) return
  const message = `The ledger (${info.kind}) has no job and no node of fleet '${fleet}': look at --fleet, or start a node first.`
  throw new FleetcronError('OPTION_INVALID', message)
}

/**
 * A job by its id (`service:id`), or by its name where one service alone has it.
 * @throws `JOB_UNKNOWN` with the name that is most alike, `OPTION_INVALID` for a name of several services
 */
export async function findJob(ledger: OpenLedger, asked: string): Promise<Aggregate> {
  const { jobs, unreadable } = await ledger.store.load({ jobs: [asked] })
  const exact = jobs.get(asked)
  if (exact) return exact
  const [spoilt] = unreadable
  if (spoilt) throw new FleetcronError('STORE_UNAVAILABLE', `Job '${asked}' cannot be read: ${spoilt.why}`)
  const all = await allJobs(ledger)
  const named = all.filter(({ header }) => header.name === asked || idOf(header.job) === asked)
  const [only] = named
  if (only && named.length === 1) return only
  if (only) {
    const ids = named.map(({ header }) => header.job).join(', ')
    throw new FleetcronError('OPTION_INVALID', `Several services have a job '${asked}': name one of ${ids}.`)
  }
  if (all.length === 0) throwIfNobody(ledger, all, (await ledger.store.load({ nodes: true })).nodes)
  throw new FleetcronError('JOB_UNKNOWN', `Fleet '${ledger.fleet}' has no job '${asked}'${hint(asked, all)}`)
}

/**
 * A run by its job and key; an occurrence that another row covers gives that row.
 * @throws `RUN_UNKNOWN`
 */
export async function findRun(ledger: OpenLedger, job: string, key: string): Promise<Run> {
  const { runs } = await ledger.store.load({ keys: [{ job, key }] })
  const found = runs[0] ?? (await coveringRun(ledger, job, key))
  if (found) return found
  const message = `Job '${job}' has no run '${key}': it never was, or was pruned; take the key from fleetcron runs ${quoted(job)}.`
  throw new FleetcronError('RUN_UNKNOWN', message)
}

/** How many rows are looked through, newest first. */
const SEARCHED = 5_000

async function coveringRun({ store }: OpenLedger, job: string, key: string): Promise<Run | null> {
  let before: Run | undefined
  for (let searched = 0; searched < SEARCHED; searched += PAGE) {
    const page = await store.runs({ job, limit: PAGE, ...(before === undefined ? {} : { before }) })
    const found = page.find((run) => decides(run, key))
    if (found) return found
    before = page.at(-1)
    if (page.length < PAGE) return null
  }
  return null
}

function hint(asked: string, all: readonly Aggregate[]): string {
  const names = new Set(all.flatMap(({ header }) => [header.name, header.job]))
  let best = ''
  let least = Math.max(2, Math.floor(asked.length / 3)) + 1
  for (const name of names) {
    const steps = distance(asked.toLowerCase(), name.toLowerCase(), least)
    if (steps >= least) continue
    least = steps
    best = name
  }
  return best === '' ? '; fleetcron jobs lists them.' : `: did you mean '${oneLine(best)}'?`
}

/** Steps from one text to another (put in, leave out, exchange), or `most` where it takes as many or more. */
function distance(from: string, to: string, most: number): number {
  if (Math.abs(from.length - to.length) >= most) return most
  let row = Array.from({ length: to.length + 1 }, (_, i) => i)
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    for (let j = 1; j <= to.length; j++) {
      const exchange = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1)
      next.push(Math.min(exchange, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? most
}

/** The part of a ledger's id after its service. */
function idOf(job: string): string {
  return job.slice(job.indexOf(':') + 1)
}

function quoted(text: string): string {
  return /^[\w:./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}

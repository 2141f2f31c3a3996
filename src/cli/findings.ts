import type { Aggregate, Run } from '../ledger/types.js'
import type { Examination } from '../store/examination.js'
import type { NodeRow, StoreInfo, Unreadable } from '../store/port.js'
import { lostNodes } from './lost-nodes.js'
import { serverFindings } from './server-findings.js'
import { type Business, effectTables, uncertainEffects } from './uncertain.js'
import { type Poked, unpoked } from './unpoked.js'
import { nodeState } from './views.js'

/** What a fleet looks like from outside at one moment; instants are the store's. */
export interface Facts {
  readonly info: StoreInfo
  readonly now: number
  /** This machine's wall clock minus the store's, in ms, and how far that may be wrong. */
  readonly wallAheadMs: number
  readonly doubtMs: number
  readonly nodes: readonly NodeRow[]
  readonly jobs: readonly Aggregate[]
  readonly unreadable: readonly Unreadable[]
  readonly poked: Poked
  /** The latest runs of the fleet, newest first. */
  readonly latest: readonly Run[]
  /** What the store sees of its server; null: it has none. */
  readonly examination: Examination | null
  /** Null: the business database was not named. */
  readonly business: Business | null
}

export interface Finding {
  /** Machine word. */
  readonly finding: string
  /** Work is not done, or will not be, until somebody does something. */
  readonly grave: boolean
  readonly what: string
  readonly remedy: string
}

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Later than so, a due job is one that nobody looks after: beats come every ten seconds. */
const OVERDUE_MS = MINUTE
const LONG_PAUSE_MS = 7 * DAY
/** Everything is written in the store's time; a host that is so far off misleads people, and its timers fire at odd times. */
const CLOCK_MS = 2 * SECOND
/** A handler obeys within the time that a node gives it; after so long it does not. */
const DISOBEYED_MS = MINUTE

/** Everything that breaks fleets and can be seen in the ledger, the grave first. */
export function examine(facts: Facts): Finding[] {
  const looks = [
    store,
    clock,
    nobody,
    unreadable,
    zoneData,
    manifests,
    unhosted,
    overdue,
    pauses,
    leases,
    handlers,
    failing,
    ({ poked }: Facts) => unpoked(poked),
    lostNodes,
    (seen: Facts) => serverFindings(seen.examination, live(seen).length),
    ({ business }: Facts) => effectTables(business),
    ({ business, now }: Facts) => uncertainEffects(business, now),
  ]
  const all = looks.flatMap((look) => look(facts))
  return [...all.filter(({ grave }) => grave), ...all.filter(({ grave }) => !grave)]
}

function store({ info }: Facts): Finding[] {
  if (info.grade === 'correct') return []
  const what = `The store ${info.kind} is efficient, not correct: ${info.remark ?? 'it can lose what it has acknowledged.'}`
  return [
    {
      finding: 'store-grade',
      grave: false,
      what,
      remedy: 'Mend what the sentence names, or keep effects by their keys.',
    },
  ]
}

function clock({ wallAheadMs, doubtMs }: Facts): Finding[] {
  const least = Math.abs(wallAheadMs) - doubtMs
  if (least < CLOCK_MS) return []
  const way = wallAheadMs > 0 ? 'ahead of' : 'behind'
  const what = `The clock of this machine is ${Math.round(least / SECOND)} s or more ${way} the store's.`
  return [
    { finding: 'clock-offset', grave: least >= MINUTE, what, remedy: 'Run NTP (chrony, systemd-timesyncd) on both.' },
  ]
}

function live({ nodes, now }: Facts): NodeRow[] {
  return nodes.filter((node) => nodeState(node, now) === 'live')
}

function nobody(facts: Facts): Finding[] {
  if (live(facts).some((node) => node.hello.attends)) return []
  const what = 'No node of this fleet is live: nothing is run.'
  return [{ finding: 'no-node', grave: true, what, remedy: 'Start the application, with this store and this fleet.' }]
}

function unreadable({ unreadable: rows }: Facts): Finding[] {
  const remedy = 'Put the row right or restore it; the other jobs go on.'
  return rows.map(({ job, why }) => ({ finding: 'unreadable', grave: true, what: `Job '${job}': ${why}`, remedy }))
}

function zoneData(facts: Facts): Finding[] {
  const versions = grouped(live(facts), (node) => node.hello.zoneData)
  if (versions.size <= 1) return []
  const what = `Nodes have different zone data: ${told(versions)}.`
  const remedy =
    'Run one version of Node (or of its ICU data) everywhere: until then a local time may be due at two instants.'
  return [{ finding: 'zone-data', grave: false, what, remedy }]
}

function manifests(facts: Facts): Finding[] {
  const found: Finding[] = []
  const nodes = live(facts)
  for (const { header } of facts.jobs) {
    const { job } = header
    const hashes = grouped(
      nodes.filter((node) => Object.hasOwn(node.hello.manifest, job)),
      (node) => node.hello.manifest[job] ?? '',
    )
    if (hashes.size <= 1) continue
    const what = `Job '${job}': nodes carry ${hashes.size} different definitions: ${told(hashes)}.`
    const remedy =
      'Fine during a deploy. If it stays, an option differs by node (a variable of the environment?): make it the same.'
    found.push({ finding: 'manifests-disagree', grave: false, what, remedy })
  }
  return found
}

function unhosted(facts: Facts): Finding[] {
  const nodes = live(facts).filter((node) => node.hello.attends)
  // Without a live node that is said once; a schedule kept in the store is in no manifest.
  if (nodes.length === 0) return []
  const remedy = 'Start a node that declares it. If it is gone for good, retire it: fleet.retire(job).'
  return facts.jobs
    .filter(({ header, definition }) => !header.retired && definition.handler === undefined)
    .filter(({ header }) => !nodes.some((node) => Object.hasOwn(node.hello.manifest, header.job)))
    .map(({ header, definition }) => {
      const what = `Job '${header.job}' is hosted by no live node.`
      return { finding: 'unhosted', grave: definition.schedule !== null, what, remedy }
    })
}

function overdue({ jobs, now }: Facts): Finding[] {
  const remedy =
    'Look at the logs of the nodes that host it: `parked` in health() names a job that is left alone for an error.'
  return jobs
    .filter(({ header }) => !header.retired && header.wakeAt !== null && header.wakeAt < now - OVERDUE_MS)
    .map(({ header }) => {
      const what = `Job '${header.job}' has been due for ${duration(now - (header.wakeAt ?? now))} and nobody looks after it.`
      return { finding: 'overdue', grave: true, what, remedy }
    })
}

function pauses({ jobs, now }: Facts): Finding[] {
  return jobs.flatMap(({ header }) => {
    const { pause, retired, job } = header
    if (pause === null || retired || pause.until !== null || now - pause.since < LONG_PAUSE_MS) return []
    const why = pause.why === null ? '' : `: ${pause.why}`
    const what = `Job '${job}' has been paused for ${duration(now - pause.since)} by ${pause.by}${why}.`
    return [{ finding: 'long-pause', grave: false, what, remedy: `fleetcron resume '${job}', or retire it.` }]
  })
}

/** A healthy node renews every third of its lease. */
function leases({ nodes, jobs, now }: Facts): Finding[] {
  const holders = grouped(running(jobs), (run) => run.session ?? '')
  return nodes.flatMap((node) => {
    const held = holders.get(node.session)?.length ?? 0
    const leaseMs = node.leaseEnd - node.seenAt
    const left = node.leaseEnd - now
    if (held === 0 || node.endedAt !== null || left > leaseMs / 3) return []
    const runs = held === 1 ? 'a run' : `${held} runs`
    const what =
      left < 0
        ? `Node ${node.hello.label} holds ${runs}, and its lease ran out ${duration(-left)} ago.`
        : `Node ${node.hello.label} holds ${runs}, and ${Math.round(left / SECOND)} of ${Math.round(leaseMs / SECOND)} s are left of its lease.`
    const remedy =
      'If it is alive, its event loop or its way to the store is slow: give the fleet a longer `lease`, or the host more room.'
    return [{ finding: 'lease-margin', grave: left < -MINUTE, what, remedy }]
  })
}

/** Handlers that go on after they were asked to stop, or after their timeout. */
function handlers({ jobs, now }: Facts): Finding[] {
  return jobs.flatMap(({ runs, definition }) =>
    runs
      .filter((run) => run.state === 'running')
      .flatMap((run) => {
        const begun = run.attempts.at(-1)?.startedAt ?? run.startedAt ?? now
        const overMs = definition.timeoutMs === null ? 0 : now - begun - definition.timeoutMs
        const askedMs = run.stop === null ? 0 : now - run.stop.at
        const most = Math.max(overMs, askedMs)
        if (most < DISOBEYED_MS) return []
        const node = run.attempts.at(-1)?.node ?? 'unknown'
        const why = askedMs >= overMs ? `after ${run.stop?.by} asked it to stop` : 'after its timeout'
        const what = `Run ${run.key} of '${run.job}' goes on at ${node}, ${duration(most)} ${why}.`
        const remedy =
          'Let the handler hand `run.signal` to what it awaits and leave by `signal.throwIfAborted()`; restart that node to end it now.'
        return [{ finding: 'abandoned-handler', grave: true, what, remedy }]
      }),
  )
}

const MANY_FAILURES = 3

function failing({ jobs }: Facts): Finding[] {
  return jobs
    .filter(({ header, tally }) => !header.retired && tally.failures >= MANY_FAILURES)
    .map(({ header, tally }) => {
      const what = `Job '${header.job}' has failed ${tally.failures} times in a row.`
      return {
        finding: 'failing',
        grave: false,
        what,
        remedy: `fleetcron runs '${header.job}' --state failed shows how.`,
      }
    })
}

function running(jobs: readonly Aggregate[]): Run[] {
  return jobs.flatMap(({ runs }) => runs.filter((run) => run.state === 'running'))
}

function grouped<T>(all: readonly T[], by: (each: T) => string): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>()
  for (const each of all) {
    const group = groups.get(by(each)) ?? []
    group.push(each)
    groups.set(by(each), group)
  }
  return groups
}

function told(groups: ReadonlyMap<string, readonly NodeRow[]>): string {
  const labels = (nodes: readonly NodeRow[]) => nodes.map((node) => node.hello.label).sort()
  return [...groups].map(([word, nodes]) => `${word} (${labels(nodes).join(', ')})`).join('; ')
}

function duration(ms: number): string {
  const units = [
    [DAY, 'd'],
    [HOUR, 'h'],
    [MINUTE, 'min'],
    [SECOND, 's'],
  ] as const
  const [unit, word] = units.find(([size]) => ms >= 2 * size) ?? [SECOND, 's']
  return `${Math.round(ms / unit)} ${word}`
}

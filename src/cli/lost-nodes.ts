import type { Run } from '../ledger/types.js'
import type { NodeRow } from '../store/port.js'
import type { Finding } from './findings.js'
import { nodeState } from './views.js'

/** So far back it is of interest how nodes ended. */
const LOOKED_BACK_MS = 24 * 3_600_000

/** One node may have been killed; more of them have a reason. */
const REPEATEDLY = 2

interface Seen {
  readonly nodes: readonly NodeRow[]
  /** The latest runs of the fleet, of which the attempts tell who was lost. */
  readonly latest: readonly Run[]
  readonly now: number
}

/** Nodes that ended without telling, and nodes that lost their sessions and lived on. */
export function lostNodes(seen: Seen): Finding[] {
  const lost = losses(seen)
  const returned = lost.filter((each) => livedOn(each, seen))
  const gone = new Set(lost.filter((each) => !livedOn(each, seen)).map(({ label }) => label))
  return [...lateBeats(returned), ...vanished(gone)]
}

/** A session that ran out, by the name of its node and the instant at which that was found. */
interface Loss {
  readonly label: string
  readonly at: number
}

function losses({ nodes, latest, now }: Seen): Loss[] {
  const ended = nodes.flatMap((row) => {
    // A clean stop ends a session before its lease is over; one that holds nothing is not even marked.
    const ranOut = row.endedAt !== null && row.endedAt >= row.leaseEnd
    const isSilent = nodeState(row, now) === 'silent'
    return ranOut || isSilent ? [{ session: row.session, label: row.hello.label, at: row.endedAt ?? row.seenAt }] : []
  })
  const attempts = latest
    .flatMap((run) => run.attempts)
    .flatMap(({ session, node, outcome, endedAt }) => {
      const isRecent = outcome === 'lost' && endedAt !== null && now - endedAt <= LOOKED_BACK_MS
      return isRecent ? [{ session, label: node, at: endedAt }] : []
    })
  // Several runs may have been lost with one session.
  return [...new Map([...attempts, ...ended].map((each) => [each.session, each])).values()]
}

/** Whether a node of that name was seen after the loss: then its session was lost, and not the node. */
function livedOn({ label, at }: Loss, { nodes, latest }: Seen): boolean {
  const isSeen = nodes.some((row) => row.hello.label === label && row.seenAt > at)
  return isSeen || latest.some(({ attempts }) => attempts.some((each) => each.node === label && each.startedAt > at))
}

function lateBeats(returned: readonly Loss[]): Finding[] {
  if (returned.length === 0) return []
  const counts = new Map<string, number>()
  for (const { label } of returned) counts.set(label, (counts.get(label) ?? 0) + 1)
  const told = [...counts].map(([label, count]) => (count === 1 ? label : `${label} (${count} times)`)).sort()
  const what = `Nodes lost their sessions in the last 24 h and went on: ${told.join(', ')}. Their beats came later than the lease, or they were started again under the same name.`
  const remedy =
    'Look for what blocks their event loop, or for a slow way to the store; give the fleet a longer `lease`, or the hosts more room.'
  return [{ finding: 'late-beats', grave: false, what, remedy }]
}

function vanished(labels: ReadonlySet<string>): Finding[] {
  if (labels.size < REPEATEDLY) return []
  const some = [...labels].sort().slice(0, 10).join(', ')
  const what = `${labels.size} nodes have gone without stopping: ${some}${labels.size > 10 ? ', …' : ''}. Their runs waited for the end of a lease.`
  const remedy =
    'Let SIGTERM stop the fleet (`fleet.stop()`; in NestJS `app.enableShutdownHooks()`), and give the platform more time than the grace before it kills.'
  return [{ finding: 'vanished', grave: false, what, remedy }]
}

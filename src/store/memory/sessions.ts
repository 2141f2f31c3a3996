import type { EndedSession } from '../../ledger/types.js'
import { earliest } from '../guards.js'
import type { Attendance, AttendQuery, Beat, BeatReply, NodeHello, NodeRow, NodeSummary, SessionRef } from '../port.js'
import { SEEN_MS } from '../retention.js'
import type { JobEntry, State } from './state.js'
import { compareText, type Wake } from './wakes.js'

/** Not ended, and not run out: a session that holds no run does not run out. */
export function isAlive(state: State, session: string, now: number): boolean {
  const node = state.nodes.get(session)
  if (!node || node.endedAt !== null) return false
  return node.leaseEnd >= now || !state.holdsRuns(session)
}

export function attend(state: State, session: SessionRef, query: AttendQuery, now: number): Attendance {
  for (const holder of state.running.keys()) {
    const node = state.nodes.get(holder)
    if (node && node.endedAt === null && node.leaseEnd < now) state.putNode({ ...node, endedAt: now })
  }
  begin(state, session, query.hello, now)
  const nothing = { now, jobs: [], unreadable: [], ended: new Map(), after: null, incarnation: state.incarnation }
  if (!isAlive(state, session.id, now)) {
    return { ...nothing, alive: false, nextWakeAt: null, nextOtherWakeAt: null, nextEndAt: null }
  }
  renew(state, session, now, query.hello ? { hello: structuredClone(query.hello) } : {})
  const { buckets, graceMs, services } = query
  const { entries, after } = page(state, query, now)
  return {
    ...nothing,
    alive: true,
    jobs: entries.map((entry) => state.aggregate(entry)),
    ended: endedOf(state, entries),
    after,
    nextWakeAt: state.wakes.next(services, (bucket) => (buckets.has(bucket) ? now : null)),
    nextOtherWakeAt: state.wakes.next(services, (bucket) => (buckets.has(bucket) ? null : now - graceMs)),
    nextEndAt: nextEnd(state, session.id),
  }
}

export function beat(state: State, session: SessionRef, sent: Beat, now: number): BeatReply {
  const { services, buckets } = sent
  const known = state.nodes.get(session.id)
  const alive = isAlive(state, session.id, now)
  if (alive) renew(state, session, now, { room: sent.room })
  if (known && sent.end) {
    const node = state.nodes.get(session.id) as NodeRow
    state.putNode({ ...node, endedAt: node.endedAt ?? now })
  }
  const mine = state.running.get(session.id)
  const attempts = new Set(sent.attempts)
  const any = Number.NEGATIVE_INFINITY
  return {
    now,
    alive,
    known: known !== undefined,
    gone: [...attempts].flatMap((attemptId) => {
      const run = mine?.get(attemptId)
      return run && run.stop === null ? [] : [{ attemptId, stop: run?.stop ?? null }]
    }),
    strays: [...(mine?.values() ?? [])].filter((run) => !attempts.has(run.attemptId ?? '')),
    nextWakeAt: state.wakes.next(services, (bucket) => (buckets.has(bucket) ? any : null)),
    nextOtherWakeAt: state.wakes.next(services, (bucket) => (buckets.has(bucket) ? null : any)),
    nextEndAt: nextEnd(state, session.id),
    nodes: [...state.nodes.values()].filter((node) => node.seenAt >= now - SEEN_MS).map((node) => summary(state, node)),
    incarnation: state.incarnation,
  }
}

function begin(state: State, session: SessionRef, said: NodeHello | undefined, now: number): void {
  if (!said || state.nodes.has(session.id)) return
  const hello = structuredClone(said)
  const times = { startedAt: now, seenAt: now, leaseEnd: now + session.leaseMs, endedAt: null }
  state.putNode({ session: session.id, node: session.node, hello, room: true, ...times })
}

function renew(state: State, session: SessionRef, now: number, said: Partial<NodeRow>): void {
  const node = state.nodes.get(session.id)
  if (node) state.putNode({ ...node, ...said, seenAt: now, leaseEnd: now + session.leaseMs })
}

function nextEnd(state: State, session: string): number | null {
  let next: number | null = null
  for (const holder of state.running.keys()) {
    const node = state.nodes.get(holder)
    if (node && holder !== session && node.endedAt === null) next = earliest(next, node.leaseEnd)
  }
  return next
}

/** Where a page ended: jobs to recover come first, by name; then jobs due, by instant and name. */
type Mark = { readonly recovered: string } | { readonly due: Wake }

function page(state: State, query: AttendQuery, now: number): { entries: JobEntry[]; after: string | null } {
  const mark = query.after === undefined ? { recovered: '' } : (JSON.parse(query.after) as Mark)
  const services = new Set(query.services)
  const wanted = query.limit + 1
  const names = new Map<string, Mark>()
  if ('recovered' in mark) {
    for (const job of toRecover(state, services).filter((name) => name > mark.recovered)) {
      if (names.size < wanted) names.set(job, { recovered: job })
    }
  }
  const until = (bucket: number) => (query.buckets.has(bucket) ? now : now - query.graceMs)
  const from = 'due' in mark ? mark.due : null
  for (const wake of names.size < wanted ? state.wakes.due(query.services, until, from, wanted) : []) {
    if (names.size < wanted && !names.has(wake.job)) names.set(wake.job, { due: wake })
  }
  const shown = [...names].slice(0, query.limit)
  const last = shown.at(-1)
  return {
    entries: shown.flatMap(([job]) => state.jobs.get(job) ?? []),
    after: names.size > query.limit && last ? JSON.stringify(last[1]) : null,
  }
}

function toRecover(state: State, services: ReadonlySet<string>): string[] {
  const found = new Set<string>()
  for (const [session, runs] of state.running) {
    if (state.nodes.get(session)?.endedAt == null) continue
    for (const { job } of runs.values()) {
      if (services.has(state.jobs.get(job)?.row.header.service ?? '')) found.add(job)
    }
  }
  return [...found].sort(compareText)
}

function endedOf(state: State, entries: readonly JobEntry[]): ReadonlyMap<string, EndedSession> {
  const found = new Map<string, EndedSession>()
  for (const { session, state: runState } of entries.flatMap((entry) => state.aggregate(entry).runs)) {
    const node = session === null || runState !== 'running' ? undefined : state.nodes.get(session)
    if (!node || node.endedAt === null || found.has(node.session)) continue
    const { leaseEnd, endedAt } = node
    found.set(node.session, {
      session: node.session,
      node: node.node,
      leaseEnd,
      endedAt,
      returned: returned(state, node),
    })
  }
  return found
}

/** Rows stand in order of beginning, which a step of the clock does not change. */
function returned(state: State, node: NodeRow): boolean {
  let passed = false
  for (const other of state.nodes.values()) {
    if (passed && other.node === node.node) return true
    if (other.session === node.session) passed = true
  }
  return false
}

function summary(state: State, row: NodeRow): NodeSummary {
  const { session, node, hello, room, seenAt, endedAt } = row
  const { label, services, attends, zoneData } = hello
  const word = state.manifests.get(session) ?? ''
  return { session, node, label, services, attends, room, manifestId: word, zoneData, seenAt, endedAt }
}

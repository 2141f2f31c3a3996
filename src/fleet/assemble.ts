import { FleetcronError } from '../errors.js'
import { Attempts } from './attempts.js'
import { Beats } from './beats.js'
import { Definitions } from './definitions.js'
import { Events } from './events.js'
import { EffectTables } from './fence.js'
import { hostStored } from './handlers.js'
import { KeyRetention } from './key-retention.js'
import { StoreLink } from './link.js'
import { Log } from './log.js'
import { Looker } from './looker.js'
import { Membership } from './membership.js'
import type { HostedJob, NodeOptions } from './node.js'
import { FLEET_DEFAULTS } from './options.js'
import { Outage } from './outage.js'
import type { NodeFacts, Parts } from './parts.js'
import { Remarks } from './remarks.js'
import { Retention } from './retention.js'
import { type SessionLoss, Sessions } from './session.js'
import { Settling } from './settling.js'

/** Makes the parts of a node and lets them know each other. Nothing happens yet. */
export function assemble(options: NodeOptions, stopping: AbortSignal): Parts {
  const facts = factsOf(options)
  const { clock } = facts
  const log = new Log(options.logger ?? null, { fleet: facts.fleet, service: facts.service, node: facts.label })
  const events =
    options.events ??
    new Events({ fleet: facts.fleet, node: facts.label }, (event, error) =>
      log.error(`a listener for '${event}' threw`, { error: String(error) }),
    )
  const parts = { facts, log, events, stopping } as { -readonly [Name in keyof Parts]: Parts[Name] }
  parts.link = new StoreLink(options.store, clock, () => events)
  parts.effectTables = new EffectTables(facts)
  parts.attempts = new Attempts(parts)
  parts.settling = new Settling(parts)
  parts.membership = new Membership(facts.id, facts.service, facts.jobs)
  parts.sessions = new Sessions({
    clock,
    node: facts.id,
    leaseMs: facts.leaseMs,
    holds: (session) => parts.attempts.holds(session),
    lost: (loss) => sessionLost(parts, loss),
  })
  parts.definitions = new Definitions(parts)
  parts.looker = new Looker(parts)
  parts.beats = new Beats(parts)
  parts.remarks = new Remarks(parts)
  parts.retention = new Retention(parts)
  parts.keyRetention = new KeyRetention(parts)
  parts.outage = new Outage(parts)
  events.on('store-back', () => {
    parts.settling.nudge()
    parts.looker.nudge()
  })
  logEvents(parts)
  return parts
}

function factsOf(options: NodeOptions): NodeFacts {
  const jobs = new Map<string, HostedJob>()
  for (const job of options.jobs) {
    const id = `${options.service}:${job.id}`
    const other = jobs.get(id)
    if (other !== undefined) {
      const message = `Service '${options.service}' has two jobs with the id '${job.id}' ('${other.name}' and '${job.name}'): give one of them another name.`
      throw new FleetcronError('JOB_DUPLICATE', message)
    }
    jobs.set(id, job)
  }
  const handlers = new Map((options.handlers ?? []).map((handler) => [handler.name, handler]))
  return {
    id: options.clock.id(),
    fleet: options.fleet,
    service: options.service,
    serviceDefaulted: options.serviceDefaulted ?? false,
    label: options.label,
    leaseMs: options.leaseMs ?? FLEET_DEFAULTS.leaseMs,
    maxRuns: options.maxRuns ?? FLEET_DEFAULTS.maxRuns,
    retentionMs: options.retentionMs === undefined ? FLEET_DEFAULTS.retentionMs : options.retentionMs,
    attends: options.attends ?? FLEET_DEFAULTS.attends,
    release: options.release ?? null,
    zones: options.zones,
    zoneData: options.zoneData ?? 'unknown',
    clock: options.clock,
    effects: options.effects ?? null,
    jobs,
    host: (job, definition) => jobs.get(job) ?? hostStored(options.service, handlers, job, definition),
  }
}

/** Belief has ended: every signal of the session fires now, and another session begins. */
function sessionLost(parts: Parts, { session, why, blockedMs }: SessionLoss): void {
  const { attempts, events, log, looker, beats, facts } = parts
  const runs = attempts.idsOf(session).length
  events.emit('session-lost', { session: session.ref.id, why, blockedMs, runs })
  log.warn(lossSentence(why, blockedMs, facts.leaseMs), { session: session.ref.id, runs })
  attempts.fireAll(why === 'suspend' ? 'suspend' : 'session', session)
  looker.request()
  beats.reschedule()
}

function lossSentence(why: SessionLoss['why'], blockedMs: number, leaseMs: number): string {
  if (why === 'suspend') return 'session lost: this machine was suspended; its runs go to other nodes'
  if (blockedMs > 0) {
    return `session lost: the event loop was blocked, or the process stopped, for ${(blockedMs / 1000).toFixed(1)} s (lease ${leaseMs / 1000} s). Let long computations yield, move them to a worker thread, or raise \`lease\``
  }
  if (why === 'refused') return 'session lost: the store no longer counts it as alive'
  return `session lost: the store has not answered a beat for ${leaseMs / 1000} s; handlers were told to end`
}

function logEvents({ events, log, facts }: Parts): void {
  events.on('store-away', ({ operation, error }) => {
    log.error('the store is away; due work waits, handlers go on while the lease lasts', {
      operation,
      error: error instanceof Error ? error.message : String(error),
    })
  })
  events.on('store-back', ({ awayMs }) => log.info('the store is back', { awayMs }))
  events.on('store-clock-stepped', ({ byMs }) => log.warn("the store's clock has jumped", { byMs }))
  events.on('stray-returned', (ref) => log.warn('handed back a run that this node never learned of', ref))
  events.on('session-begun', ({ session, before }) => {
    if (before !== null) log.info('another session has begun', { session, before, service: facts.service })
  })
}

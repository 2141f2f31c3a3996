import { FleetcronError } from '../errors.js'
import { cleanText } from '../ledger/index.js'
import type { Asking } from './commands.js'
import { dataText } from './data-text.js'
import { canonicalJson } from './definition-hash.js'
import { type HandlerDefinition, parsed } from './handlers.js'
import { type JobOptions, type JobSurroundings, resolveJob } from './job-options.js'
import type { JobView } from './lookups.js'
import type { FleetNode } from './node.js'
import { optionInvalid, textOf, wholeNumber } from './option-values.js'

/** A schedule to be kept in the store: a job's options, with the handler that does the work and its data. */
export type ScheduleRequest<Data = unknown> = Omit<JobOptions, 'id' | 'disabled' | 'onOutage'> & {
  /** Tells it from the others of the service; such as `digest:${tenantId}`. */
  readonly name: string
  readonly handler: HandlerDefinition<Data>
} & (undefined extends Data ? { readonly data?: Data } : { readonly data: Data })

export interface ScheduleAnswer {
  /** `refused`: it was left as it is; `message` says why. */
  readonly outcome: 'created' | 'changed' | 'unchanged' | 'refused'
  readonly message: string | null
}

/** A schedule as the store has it. */
export interface ScheduleView extends JobView {
  readonly handler: string
  /** What was handed in, before `parse`. */
  readonly data: unknown
}

/**
 * Schedules kept in the store: any number of them, made and changed while the application runs, one for each tenant for
 * example. Each is an ordinary job of the fleet under the name `schedule/<name>`; nodes need not know it beforehand.
 */
export interface Schedules {
  /** Creates it unless it is there, with whatever terms: the verb for an application that starts. Throws like `upsert`. */
  ensure<Data>(schedule: ScheduleRequest<Data>): Promise<ScheduleAnswer>
  /**
   * Creates it or changes its terms; what equals the stored one writes nothing. Before `start()` has ended it does not
   * bring back terms that the schedule had earlier (`refused`): an old release that starts again must not undo what a
   * newer one has changed.
   *
   * @throws `OPTION_INVALID`, `SCHEDULE_INVALID`, `ZONE_UNKNOWN`, `DATA_INVALID`, `QUOTA_REACHED`, `STORE_UNAVAILABLE`
   */
  upsert<Data>(schedule: ScheduleRequest<Data>): Promise<ScheduleAnswer>
  /** Null: there is none. */
  get(name: string): Promise<ScheduleView | null>
  /** One page by name: those after the name `after`, 100 or `limit` (at most 1,000). Fewer than that: it was the last. */
  list(query?: {
    readonly handler?: { readonly name: string } | string
    readonly after?: string
    readonly limit?: number
  }): Promise<ScheduleView[]>
  /** Takes it out of service; what waits is cancelled, who works is asked to stop. False: there was none. */
  remove(name: string, request?: Asking): Promise<boolean>
  /** Starts nothing new of it until `resume`, or until an instant. */
  pause(name: string, request?: Asking & { readonly until?: Date }): Promise<void>
  resume(name: string, request?: Asking): Promise<void>
}

/** What the face needs of its fleet. */
export interface SchedulesHost {
  /** A node that can speak to the store, also before the fleet's own has started. */
  readonly speaker: () => Promise<FleetNode>
  readonly isBooting: () => boolean
  readonly around: JobSurroundings
  readonly warn: (message: string) => void
}

const NAME_MOST = 190

export function createSchedules(host: SchedulesHost): Schedules {
  const put = async (request: ScheduleRequest<never>, verb: 'ensure' | 'upsert'): Promise<ScheduleAnswer> => {
    const terms = termsOf(request, host.around)
    const node = await host.speaker()
    const answer = await node.schedules.put({ ...terms, verb, isBooting: host.isBooting() })
    if (answer.outcome === 'refused') host.warn(answer.message ?? '')
    return answer
  }
  return {
    ensure: (schedule) => put(schedule as never, 'ensure'),
    upsert: (schedule) => put(schedule as never, 'upsert'),
    get: async (name) => (await host.speaker()).schedules.get(nameOf(name)),
    list: async ({ handler, after, limit } = {}) => {
      const most = limit === undefined ? 100 : wholeNumber('schedules: limit', limit, 1, 1_000)
      return (await host.speaker()).schedules.list({
        limit: most,
        ...(after === undefined ? {} : { after }),
        ...(handler === undefined ? {} : { handler: typeof handler === 'string' ? handler : handler.name }),
      })
    },
    remove: async (name, request) => {
      const { schedules, commands } = await host.speaker()
      if ((await schedules.get(nameOf(name))) === null) return false
      await commands.retire(schedules.idOf(name), request)
      schedules.removed()
      return true
    },
    pause: async (name, { until, ...asking } = {}) => {
      const { schedules, commands } = await host.speaker()
      const end = until === undefined ? {} : { until: instantOf(until) }
      await throwIfAbsent(name, schedules)
      await commands.pause(schedules.idOf(name), { ...asking, ...end })
    },
    resume: async (name, request) => {
      const { schedules, commands } = await host.speaker()
      await throwIfAbsent(name, schedules)
      await commands.resume(schedules.idOf(name), request)
    },
  }
}

function termsOf(request: ScheduleRequest<never>, around: JobSurroundings) {
  const { name, handler, data, ...options } = request as ScheduleRequest<unknown>
  nameOf(name)
  const what = `schedule '${name}'`
  if (typeof handler !== 'object' || handler === null || typeof handler.name !== 'string') {
    throw optionInvalid(`${what}: handler`, 'pass what defineHandler gives.')
  }
  for (const key of ['id', 'disabled', 'onOutage'] as const) {
    if (key in options) throw optionInvalid(what, `there is no option '${key}' for a schedule kept in the store.`)
  }
  const job = resolveJob(name, options, around)
  if (job.definition.schedule === null) throw optionInvalid(what, 'say when: pass cron, every or at.')
  const text = dataText(name, data)
  parsed(name, handler, text === null ? undefined : JSON.parse(text))
  const kept = text === null ? {} : { data: canonicalJson(JSON.parse(text)) }
  return {
    name,
    definition: { ...job.definition, handler: handler.name, ...kept },
    zoneDefaulted: job.zoneDefaulted,
    quota: handler.quota,
  }
}

function nameOf(name: string): string {
  const text = textOf('schedule: name', name, NAME_MOST)
  if (cleanText(text, NAME_MOST) === text) return text
  throw optionInvalid('schedule: name', 'it has characters that no store keeps (NUL, or half of a surrogate pair).')
}

async function throwIfAbsent(name: string, schedules: FleetNode['schedules']): Promise<void> {
  if ((await schedules.get(nameOf(name))) !== null) return
  throw new FleetcronError('JOB_UNKNOWN', `There is no schedule '${name}' in the store: check the name, or upsert it.`)
}

function instantOf(date: Date): number {
  const instant = date instanceof Date ? date.getTime() : Number.NaN
  if (Number.isNaN(instant)) throw optionInvalid('pause: until', 'it is not a valid Date.')
  return instant
}

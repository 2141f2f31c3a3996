import { FleetcronError } from '../errors.js'
import type { Definition } from '../ledger/types.js'
import { describeError } from './attempt-error.js'
import type { HostedJob } from './node.js'
import { optionInvalid, refuseUnknown, textOf, wholeNumber } from './option-values.js'
import type { Run } from './run.js'

/** What does the work of schedules kept in the store, as `defineHandler` makes it. */
export interface HandlerDefinition<Data = unknown> {
  readonly name: string
  readonly parse: ((data: unknown) => Data) | null
  readonly quota: number | null
}

export interface HandlerOptions<Data> {
  /**
   * Gives the data as the handler sees it, or throws: called when a schedule is upserted and before each attempt, with
   * what JSON keeps of it. Such as `(data) => schema.parse(data)`. Default: the data as it is.
   */
  readonly parse?: (data: unknown) => Data
  /** So many schedules with this handler may be in the store at a time. Default: any number. */
  readonly quota?: number
}

/** The run that a handler is given: `RunOf<typeof digest>`. */
export type RunOf<Definition> = Definition extends HandlerDefinition<infer Data> ? Run<Data> : never

/**
 * Names the handler of schedules kept in the store, and types their data. It is a value that both who keeps schedules and
 * who does their work import.
 *
 * @param name the same in every release; schedules in the store name it
 * @example
 * const digest = defineHandler<{ tenantId: string }>('tenant-digest')
 * fleet.handler(digest, async (run) => send(run.data.tenantId))
 * await fleet.schedules.upsert({ name: `digest:${id}`, handler: digest, data: { tenantId: id }, cron: '0 8 * * *' })
 * @throws `OPTION_INVALID`
 */
export function defineHandler<Data = unknown>(
  name: string,
  options: HandlerOptions<Data> = {},
): HandlerDefinition<Data> {
  const what = `handler '${name}'`
  textOf('defineHandler: name', name, 200)
  refuseUnknown(what, options, ['parse', 'quota'], { schema: 'parse', limit: 'quota', validate: 'parse' })
  const { parse, quota } = options
  if (parse !== undefined && typeof parse !== 'function') throw optionInvalid(`${what}: parse`, 'it is not a function.')
  return {
    name,
    parse: parse ?? null,
    quota: quota === undefined ? null : wholeNumber(`${what}: quota`, quota, 1),
  }
}

/** A handler as a node carries it. */
export interface HostedHandler {
  readonly name: string
  readonly parse: ((data: unknown) => unknown) | null
  readonly handler: (run: Run<never>) => unknown
}

/** Ids of schedules kept in the store begin so, within their service. */
export const STORED = 'schedule/'

/** What a node runs a schedule of the store with; null: it has no such handler, or the job is none. */
export function hostStored(
  service: string,
  handlers: ReadonlyMap<string, HostedHandler>,
  job: string,
  definition: Definition,
): HostedJob | null {
  const { handler: name, data: _, ...rest } = definition
  const handler = name === undefined ? undefined : handlers.get(name)
  const prefix = `${service}:${STORED}`
  if (handler === undefined || !job.startsWith(prefix)) return null
  const schedule = job.slice(prefix.length)
  return {
    id: `${STORED}${schedule}`,
    name: schedule,
    definition: rest,
    zoneDefaulted: false,
    handler: handler.handler,
    parse: (data) => parsed(schedule, handler, data),
  }
}

/**
 * The data as the handler sees it.
 * @throws `DATA_INVALID`
 */
export function parsed(schedule: string, handler: Pick<HostedHandler, 'name' | 'parse'>, data: unknown): unknown {
  if (handler.parse === null) return data
  try {
    return handler.parse(data)
  } catch (cause) {
    const { message } = describeError(cause)
    const sentence = `Schedule '${schedule}': its data is not what handler '${handler.name}' takes: ${message}`
    throw new FleetcronError('DATA_INVALID', sentence, { cause })
  }
}

import { FleetcronError } from '../errors.js'
import { checkJob } from './asked.js'
import type { DeclaredTerms } from './boot.js'
import type { Handler } from './fleet.js'
import { type HandlerDefinition, type HostedHandler, STORED } from './handlers.js'
import { type JobOptions, type JobSurroundings, type ResolvedJob, resolveJob } from './job-options.js'
import type { HostedJob } from './node.js'

/** A job with what the code says of it. */
interface DeclaredJob {
  readonly name: string
  readonly job: ResolvedJob
  readonly hosted: HostedJob
}

/** The jobs and handlers that a fleet's code declares, by their names. */
export class Declared {
  readonly handlers = new Map<string, HostedHandler>()
  private readonly byName = new Map<string, DeclaredJob>()
  private readonly namesById = new Map<string, string>()

  constructor(
    private readonly fleet: string,
    private readonly service: string,
    private readonly around: JobSurroundings,
  ) {}

  jobs(): DeclaredJob[] {
    return [...this.byName.values()]
  }

  /** What the code says of each, for whoever looks at a fleet from outside. */
  terms(): DeclaredTerms[] {
    return this.jobs().map(({ name, job: { definition, disabled } }) => ({
      id: this.id(name),
      name,
      definition,
      disabled,
    }))
  }

  names(): Iterable<string> {
    return this.byName.keys()
  }

  /** @throws FleetcronError `OPTION_INVALID`, `SCHEDULE_INVALID`, `ZONE_UNKNOWN`, `JOB_DUPLICATE` */
  add<Data>(name: string, options: JobOptions, handler: Handler<Data>): void {
    checkHandler(`Job '${name}'`, handler)
    const job = resolveJob(name, options, this.around)
    if (job.id.startsWith(STORED)) {
      const message = `job '${name}': ids that begin with ${STORED} belong to schedules kept in the store.`
      throw new FleetcronError('OPTION_INVALID', message)
    }
    const other = this.byName.has(name) ? name : this.namesById.get(job.id)
    if (other !== undefined) {
      const what =
        other === name ? `two jobs named '${name}'` : `'${other}' and '${name}', both with the id '${job.id}'`
      throw new FleetcronError(
        'JOB_DUPLICATE',
        `Fleet '${this.fleet}' declares ${what}: give one of them another name.`,
      )
    }
    const { id, definition, zoneDefaulted, initialDelayMs, onOutage } = job
    this.namesById.set(id, name)
    const hosted = { id, name, definition, zoneDefaulted, initialDelayMs, onOutage, handler: handler as never }
    this.byName.set(name, { name, job, hosted })
  }

  /** @throws FleetcronError `OPTION_INVALID`, `JOB_DUPLICATE` */
  addHandler<Data>({ name, parse }: HandlerDefinition<Data>, handler: Handler<Data>): void {
    checkHandler(`Handler '${name}'`, handler)
    if (this.handlers.has(name)) {
      const message = `Fleet '${this.fleet}' has two handlers named '${name}': give one of them another name.`
      throw new FleetcronError('JOB_DUPLICATE', message)
    }
    this.handlers.set(name, { name, parse, handler: handler as never })
  }

  /** The ledger's id of a job: by its name or id here, or written out as `service:id`. */
  id(job: string): string {
    checkJob(job)
    const known = this.byName.get(job)
    if (known !== undefined) return `${this.service}:${known.job.id}`
    if (job.startsWith(STORED)) return `${this.service}:${job}`
    return job.includes(':') ? job : `${this.service}:${job}`
  }
}

function checkHandler(what: string, handler: unknown): void {
  if (typeof handler === 'function') return
  throw new FleetcronError('OPTION_INVALID', `${what}: its handler is not a function.`)
}

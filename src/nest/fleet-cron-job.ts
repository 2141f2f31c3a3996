import { CronJob, CronTime } from 'cron'
import { FleetcronError } from '../errors.js'

/** What a view asks of its job. */
export interface ViewedJob {
  readonly name: string
  /** The expression, where the job has one. */
  readonly cron: string | null
  /** Whether this node attends it now. */
  active(): boolean
  running(): boolean
  next(after: number, count: number): Date[]
  last(): Date | null
}

type LuxonDate = ReturnType<CronJob['nextDate']>

/**
 * A fleet's job as `SchedulerRegistry` shows it: dates and state. It is no timer, so whatever would start, stop or move one
 * is refused with the fleet's verb for it.
 */
export class FleetCronJob extends CronJob {
  readonly #job: ViewedJob

  constructor(job: ViewedJob) {
    super(timeOf(job.cron), () => undefined, null, false)
    this.#job = job
    this.name = job.name
    // The class keeps its state in a field and shows it by getters; both are answered by the fleet.
    Object.defineProperties(this, {
      isActive: { get: () => job.active() },
      isCallbackRunning: { get: () => job.running() },
      // The registry wraps what it is given so that errors are logged; here the error is the answer.
      fireOnTick: { get: () => this.#fire, set: () => undefined },
    })
  }

  override start(): void {
    throw this.#refusal('start()', `await fleet.resume('${this.#job.name}')`)
  }

  override stop(): Promise<void> {
    throw this.#refusal('stop()', `await fleet.pause('${this.#job.name}')`)
  }

  override setTime(): void {
    throw this.#refusal('setTime()', `a new expression in the decorator or in the module's \`jobs\``)
  }

  override addCallback(): void {
    // The constructor of the class calls this once, before there is a job.
    if (#job in this) throw this.#refusal('addCallback()', `fleet.on('run-ended', …)`)
  }

  readonly #fire = async (): Promise<void> => {
    throw this.#refusal('fireOnTick()', `await fleet.trigger('${this.#job.name}')`)
  }

  override nextDate(): LuxonDate {
    const [first] = this.nextDates(1)
    if (first !== undefined) return first
    throw new FleetcronError(
      'STATE_CONFLICT',
      `Job '${this.#job.name}' has no next date that this process knows: its schedule has ended, or it is a period whose anchor the store keeps. fleet.jobs() tells.`,
    )
  }

  override nextDates(count = 1): LuxonDate[] {
    return this.#job.next(Date.now(), count).map((date) => new CronTime(date).source as LuxonDate)
  }

  override lastDate(): Date | null {
    return this.#job.last()
  }

  #refusal(method: string, verb: string): FleetcronError {
    const message =
      `getCronJob('${this.#job.name}').${method}: this job belongs to the fleet, not to this process. ` + `Use ${verb}.`
    return new FleetcronError('STATE_CONFLICT', message)
  }
}

/** What the field `cronTime` shows; an expression that only the fleet understands is shown as none that ever comes. */
function timeOf(cron: string | null): string {
  const never = '0 0 29 2 *'
  return cron !== null && CronTime.validateCronExpression(cron).valid ? cron : never
}

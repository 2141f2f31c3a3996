import { FleetcronError } from '../errors.js'
import { BOOT, type Booting, declaredJobs } from '../fleet/boot.js'
import type { Fleet } from '../fleet/fleet.js'
import { closest } from '../fleet/option-values.js'

/** The one job that a process is there for: named as people read it, or in full. */
export class HostedJob {
  constructor(
    private readonly fleet: Fleet,
    private readonly asked: string,
  ) {
    // NestJS declares its jobs later than this: the fleet is told of the name when it asks.
    const boot = (fleet as Partial<Booting>)[BOOT] ?? {}
    Object.defineProperty(boot, 'only', { get: () => this.name, configurable: true, enumerable: true })
  }

  /** In the application; what was asked where it declares no such job, or not yet. */
  get name(): string {
    const { jobs } = declaredJobs(this.fleet)
    const isNamed = jobs.some(({ name }) => name === this.asked)
    return isNamed ? this.asked : (jobs.find(({ id }) => id === this.asked)?.name ?? this.asked)
  }

  /** @throws `JOB_UNKNOWN` before the store is asked, where the application has declared its jobs */
  throwIfUnknown(): void {
    const { jobs } = declaredJobs(this.fleet)
    const isKnown = jobs.some(({ name, disabled }) => name === this.name && !disabled)
    if (jobs.length > 0 && !isKnown) throw this.unknown()
  }

  unknown(): FleetcronError {
    const { jobs } = declaredJobs(this.fleet)
    const names = jobs.filter(({ disabled }) => !disabled).map(({ name }) => name)
    const isDeclared = jobs.some(({ name }) => name === this.name)
    const near = isDeclared ? undefined : closest(this.asked.slice(this.asked.indexOf(':') + 1), names)
    const remedy = near === undefined ? 'look at its name, and at `disabled`.' : `did you mean '${near}'?`
    return new FleetcronError('JOB_UNKNOWN', `Job '${this.asked}' is not one that the application hosts: ${remedy}`)
  }
}

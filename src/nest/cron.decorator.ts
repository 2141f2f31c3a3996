import type { JobOptions } from '../fleet/job-options.js'
import type { Run } from '../fleet/run.js'
import { declare } from './declarations.js'

/** What a fleet's job may say besides its schedule, which is the decorator's first argument. */
export type CronOptions = Omit<JobOptions, 'cron' | 'every' | 'at'> & {
  /**
   * What the fleet knows the job by, such as `daily-invoices`: the same on every node and in every release. Default: class
   * and method, `Invoices.daily`, which changes with either.
   */
  readonly name?: string
}

/** A method that takes a run, or nothing. */
export type RunMethod = (run: Run<never>) => unknown

/**
 * Runs the method once for every moment that `expression` names, on one node of the fleet. The method is given the
 * `Run`. Several on one method are several jobs: give each a name.
 *
 * @example
 * `@Cron('0 0 * * *', { name: 'daily-invoices', timeZone: 'Europe/Helsinki' }) async invoice(run: Run) { … }`
 */
export function Cron(expression: string, options: CronOptions = {}) {
  return <Method extends RunMethod>(
    target: object,
    method: string | symbol,
    _descriptor: TypedPropertyDescriptor<Method>,
  ): void => {
    const { name = null, ...others } = options
    declare(target, { method, name, options: { ...others, cron: expression } })
  }
}

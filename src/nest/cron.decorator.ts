import { type DateLike, declare } from './declarations.js'
import type { CronOptions, RunDecorator } from './job-words.js'

/**
 * Runs the method once for every moment that `cronTime` names, on one node of the fleet; with `scope: 'node'`, for a
 * `Date`, and where no fleet is named, on every node. The method is given the `Run`. Several on one method are several
 * jobs: give each a name.
 *
 * @example
 * `@Cron('0 0 * * *', { name: 'daily-invoices', timeZone: 'Europe/Helsinki' }) async invoice(run: Run) { … }`
 */
export function Cron(cronTime: string | Date | DateLike, options: CronOptions = {}): RunDecorator {
  return (target, method) => {
    declare(target, { method, name: options.name ?? null, timing: { kind: 'cron', cronTime }, options })
  }
}

import { declare } from './declarations.js'
import type { IntervalOptions, RunDecorator, TimeoutOptions } from './job-words.js'

/**
 * Runs the method every `ms` milliseconds, in a fleet on one node, counted from the job's first definition; with
 * `scope: 'node'`, and where no fleet is named, on every node, counted from its start.
 *
 * @example
 * `@Interval(60_000, { name: 'queue-depth' }) measure() { … }`
 */
export function Interval(ms: number, options?: IntervalOptions): RunDecorator
export function Interval(name: string, ms: number, options?: IntervalOptions): RunDecorator
export function Interval(...given: readonly unknown[]): RunDecorator {
  return declareTimer('interval', given)
}

/**
 * Runs the method once, `ms` milliseconds after the application's start, on every node. With `scope: 'fleet'` it runs once
 * for each `key` in the whole fleet.
 *
 * @example
 * `@Timeout(5_000) warmUp() { … }`
 */
export function Timeout(ms: number, options?: TimeoutOptions): RunDecorator
export function Timeout(name: string, ms: number, options?: TimeoutOptions): RunDecorator
export function Timeout(...given: readonly unknown[]): RunDecorator {
  return declareTimer('timeout', given)
}

function declareTimer(kind: 'interval' | 'timeout', given: readonly unknown[]): RunDecorator {
  const [name, ms, options = {}] = (typeof given[0] === 'string' ? given : [null, ...given]) as [
    string | null,
    number,
    (IntervalOptions | TimeoutOptions)?,
  ]
  return (target, method) => {
    declare(target, { method, name: name ?? options.name ?? null, timing: { kind, ms }, options })
  }
}

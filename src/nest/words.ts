import { FOREIGN_KEYS } from '../fleet/foreign-words.js'
import { JOB_KEYS, POLICY_KEYS } from '../fleet/job-options.js'
import { optionInvalid, refuseUnknown } from '../fleet/option-values.js'
import type { Timing } from './declarations.js'
import type { Found } from './explorer.js'
import type { JobOverride } from './job-words.js'
import { nameOf } from './names.js'

/** A schedule is the decorator's first argument. */
const SCHEDULE_KEYS = ['cron', 'every', 'at']

const DECORATOR_KEYS = [
  'name',
  'scope',
  ...JOB_KEYS.filter((key) => !SCHEDULE_KEYS.includes(key)),
  'utcOffset',
  'waitForCompletion',
  'threshold',
  'unrefTimeout',
  'key',
]

const OVERRIDE_KEYS = [...SCHEDULE_KEYS, 'timeZone', 'enabled', ...POLICY_KEYS]

const FIRST_ARGUMENT = "the decorator's first argument"
const FOREIGN_DECORATOR_KEYS: Readonly<Record<string, string>> = {
  ...FOREIGN_KEYS,
  ...Object.fromEntries(SCHEDULE_KEYS.map((key) => [key, FIRST_ARGUMENT])),
  pattern: FIRST_ARGUMENT,
  cronTime: FIRST_ARGUMENT,
  expression: FIRST_ARGUMENT,
  schedule: FIRST_ARGUMENT,
}

/**
 * What a decorator was given, as far as types do not hold in JavaScript.
 *
 * @throws FleetcronError `OPTION_INVALID`
 */
export function checkWords(found: Found): void {
  const { options } = found.declaration
  refuseUnknown(`job '${nameOf(found)}' (${found.place})`, options, DECORATOR_KEYS, FOREIGN_DECORATOR_KEYS)
}

/** @throws FleetcronError `OPTION_INVALID` for a schedule that is not there */
export function checkTiming(found: Found): void {
  const { timing } = found.declaration
  const given = timing.kind === 'cron' ? timing.cronTime : timing.ms
  if (isTiming(timing)) return
  const decorator = `@${timing.kind[0]?.toUpperCase()}${timing.kind.slice(1)}`
  const wanted = timing.kind === 'cron' ? 'an expression, or a Date' : 'milliseconds'
  throw optionInvalid(
    `job '${nameOf(found)}' (${found.place})`,
    `${decorator} is given ${String(given)} in place of ${wanted}. Is the variable set that it is read from?`,
  )
}

function isTiming(timing: Timing): boolean {
  if (timing.kind !== 'cron') return Number.isFinite(timing.ms)
  const { cronTime } = timing
  if (typeof cronTime === 'string' || cronTime instanceof Date) return true
  return typeof (cronTime as { toJSDate?: unknown } | undefined)?.toJSDate === 'function'
}

/** @throws FleetcronError `OPTION_INVALID` for a word in the module's `jobs` that nobody knows, and for a schedule that is not there */
export function checkOverride(name: string, override: JobOverride): void {
  const foreign = { ...FOREIGN_KEYS, disabled: '`enabled`, with the opposite value' }
  refuseUnknown(`jobs: '${name}'`, override, OVERRIDE_KEYS, foreign)
  // On every node the decorator's own schedule would come back unseen.
  const missing = SCHEDULE_KEYS.find((key) => key in override)
  if (missing === undefined || (override.cron ?? override.every ?? override.at) !== undefined) return
  throw optionInvalid(
    `jobs: '${name}': ${missing}`,
    "it is there and undefined. Set what it is read from, or leave it out for the decorator's own schedule.",
  )
}

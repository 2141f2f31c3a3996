import { type ErrorCode, FleetcronError } from '../errors.js'

/** Exit codes of every process that fleetcron is asked for; documented in docs/cli.md. */
export const DONE = 0
export const FAILED = 1
export const BAD_INPUT = 2
/** EX_TEMPFAIL of sysexits.h: try again later. */
export const AWAY = 75

/** What is wrong with the command line, or with what it names; everything else is no fault of its. */
const ABOUT_INPUT: ReadonlySet<ErrorCode> = new Set([
  'SCHEDULE_INVALID',
  'ZONE_UNKNOWN',
  'OPTION_INVALID',
  'JOB_UNKNOWN',
  'RUN_UNKNOWN',
  'STORE_MISSING',
  'DRIVER_MISSING',
])

/** Asked for by `--help`: nothing was run, and nothing is wrong. */
export class Usage extends Error {
  override readonly name = 'Usage'
}

export function exitCode(error: unknown): number {
  if (error instanceof Usage) return DONE
  if (!(error instanceof FleetcronError)) return FAILED
  if (error.code === 'STORE_UNAVAILABLE' || error.code === 'EFFECT_UNAVAILABLE') return AWAY
  return ABOUT_INPUT.has(error.code) ? BAD_INPUT : FAILED
}

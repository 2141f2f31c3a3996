import { jumpsBetween, parseSchedule } from '../../schedule/index.js'
import type { ScheduleSpec } from '../../schedule/types.js'
import { kubernetesFields } from './fields.js'

/** When Kubernetes starts a job, with what is to be known of it; or why it cannot. */
export type Timing =
  | { readonly schedule: string; readonly timeZone: string; readonly note: string | null }
  | { readonly why: string }

/** Where `every` counts from: the ledger knows; null: it was not asked. */
export type Anchor = number | null

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/**
 * A schedule in the words of a CronJob. What Kubernetes would understand otherwise, or not at all, is refused with a reason.
 *
 * @param earlyMs how long a process waits for an occurrence
 * @param now epoch milliseconds: the changes of clocks of the year after it are looked at
 */
export function timingOf(spec: ScheduleSpec, anchor: Anchor, now: number, earlyMs: number): Timing {
  if ('at' in spec) return { why: 'it is due at one moment, and a CronJob repeats' }
  if ('every' in spec) return everyOf(spec.every, anchor, earlyMs)
  const fields = kubernetesFields(spec.cron)
  if ('why' in fields) return fields
  const timeZone = zoneOf(spec.timeZone)
  if (timeZone === null) {
    return { why: `Kubernetes knows no fixed offset such as ${spec.timeZone}: name a zone, such as Asia/Kolkata` }
  }
  return { schedule: fields.text, timeZone, note: gapNote(spec, now) }
}

/** A period counts from the job's first definition; where it divides an hour or a day, that is a minute of each. */
function everyOf(everyMs: number, anchor: Anchor, earlyMs: number): Timing {
  if (everyMs % MINUTE !== 0) return { why: `its period of ${everyMs / SECOND} s is no number of whole minutes` }
  const isPartOfDay = everyMs % HOUR === 0 && DAY % everyMs === 0
  if (HOUR % everyMs !== 0 && !isPartOfDay) {
    return { why: `its period of ${everyMs / MINUTE} min divides neither an hour nor, in whole hours, a day` }
  }
  if (anchor === null) {
    return {
      why: 'its period counts from its first definition, which the ledger knows: name it with --store and --fleet',
    }
  }
  // It is due some seconds after a minute: the process is there before them and waits, or else comes after them.
  const start = earlyMs >= MINUTE ? anchor : anchor + MINUTE - 1
  const minute = Math.floor((start % HOUR) / MINUTE)
  const hour = Math.floor((start % DAY) / HOUR)
  const minutes = everyMs < HOUR ? list(minute, everyMs / MINUTE, 60) : `${minute}`
  const hours = everyMs <= HOUR ? '*' : list(hour, everyMs / HOUR, 24)
  return { schedule: `${minutes} ${hours} * * *`, timeZone: 'Etc/UTC', note: null }
}

/** Every `step` of `size`, such that `one` is among them. */
function list(one: number, step: number, size: number): string {
  const first = one % step
  if (step === 1) return '*'
  if (first === 0 && size / step > 1) return `*/${step}`
  return Array.from({ length: size / step }, (_, index) => first + index * step).join(',')
}

/** A zone's name; whole hours have one in `Etc`, whose sign is the other way round. */
function zoneOf(timeZone: string): string | null {
  if (timeZone === 'UTC') return 'Etc/UTC'
  const [, sign, hours = '', minutes] = /^([+-])(\d\d):(\d\d)$/.exec(timeZone) ?? []
  if (sign === undefined) return spelt(timeZone)
  const most = sign === '+' ? 14 : 12
  if (minutes !== '00' || Number(hours) > most) return null
  return Number(hours) === 0 ? 'Etc/UTC' : `Etc/GMT${sign === '+' ? '-' : '+'}${Number(hours)}`
}

/** Kubernetes looks for a file of that name: `europe/helsinki` is none. */
function spelt(timeZone: string): string {
  const isSame = (one: string) => one.toLowerCase() === timeZone.toLowerCase()
  const known = Intl.supportedValuesOf('timeZone').find(isSame)
  if (known !== undefined) return known
  const resolved = new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions().timeZone
  // An older name of a zone is kept, unless nobody can tell how it is spelt.
  return isSame(resolved) || timeZone === timeZone.toLowerCase() ? resolved : timeZone
}

/** Kubernetes leaves out a time that the clocks leave out; fleetcron does the work after the gap, where nobody said otherwise. */
function gapNote(spec: Extract<ScheduleSpec, { cron: string }>, now: number): string | null {
  const schedule = parseSchedule(spec, { anchor: 0 })
  if (schedule.kind !== 'fixed-time' || spec.dstGap === 'skip') return null
  for (const { from, to, instant } of jumpsBetween(now, now + 366 * DAY, spec.timeZone)) {
    const hidden = schedule
      .between(schedule.cursorAt(instant - 1), instant + DAY, 10)
      .find(({ label }) => label >= from && label < to)
    if (hidden === undefined) continue
    return `Kubernetes does not start it for ${hidden.label}, which the clocks of ${spec.timeZone} leave out: a node does that occurrence, or the next start catches it up`
  }
  return null
}

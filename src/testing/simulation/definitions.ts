import type { Definition } from '../../ledger/types.js'
import type { ScheduleSpec } from '../../schedule/types.js'
import type { Random } from '../random.js'
import type { Pace } from './plan.js'
import { offsetAt, ZONES } from './zones.js'

/** Where and when a simulation takes place: schedules are made so that they are due in its minutes. */
export interface Setting {
  readonly zone: string
  readonly start: number
  /** The hour that the zone's clock shows at the start. */
  readonly hour: number
  readonly pace: Pace
}

/** A definition with random terms; with `before`, one that differs from it in schedule, in policy, or in both. */
export function randomDefinition(random: Random, setting: Setting, often: boolean, before?: Definition): Definition {
  const keepsSchedule = before !== undefined && random.chance(0.5)
  const keepsPolicy = before !== undefined && !keepsSchedule && random.chance(0.4)
  const schedule = keepsSchedule ? before.schedule : randomSchedule(random, setting, often)
  if (keepsPolicy) return { ...before, schedule }
  // A backlog of a hundred runs takes more time to be worked off than a brief simulation has.
  const many = setting.pace === 'brief' ? 8 : 100
  return {
    schedule,
    concurrency: random.pick([1, 1, 1, 2, 3, 6]),
    queue: random.pick([0, 1, 2, 5, many, many]),
    overlap: random.pick(['skip', 'wait', 'merge', 'replace'] as const),
    catchUp: {
      policy: random.pick(['merge', 'merge', 'each', 'skip'] as const),
      withinMs: random.pick([null, null, 15_000, 60_000, 300_000]),
      most: random.pick([1, 2, 5, many]),
    },
    retry: {
      limit: random.pick([0, 0, 1, 3]),
      delayMs: random.pick([100, 1_000, 4_000]),
      factor: random.pick([1, 2]),
      maxDelayMs: 10_000,
    },
    recover: random.pick([0, 1, 3, 3]),
    timeoutMs: random.pick(setting.pace === 'brief' ? [null, null, 1_000, 3_000] : [null, null, 2_000, 8_000]),
    pauseAfter: random.pick([null, null, null, 2, 3]),
    graceMs: random.pick([1_000, 10_000, 60_000, 60_000]),
    fence: random.chance(0.85),
  }
}

function randomSchedule(random: Random, setting: Setting, often: boolean): ScheduleSpec | null {
  const zone = random.chance(0.75) ? setting.zone : random.pick(Object.keys(ZONES))
  const place = { timeZone: zone, dstGap: random.chance(0.85) ? ('next' as const) : ('skip' as const) }
  const clock = Math.floor((setting.start + offsetAt(ZONES[zone] ?? [], setting.start)) / 60_000)
  const hour = Math.floor(clock / 60) % 24
  const hours = [-2, -1, 0, 1, 2, 3].map((by) => (hour + by + 24) % 24).join(',')
  const cron = (pattern: string): ScheduleSpec => ({ cron: pattern, ...place })
  // A fixed-time job is silent for the whole of a repeated hour: what is due often goes by instants.
  if (often && setting.pace === 'brief') {
    return random.pick([{ every: 1_500 }, { every: 1_700 }, cron('1-59/2,*/4 * * * * *')])
  }
  if (often) return random.pick([{ every: 4_000 }, cron('*/3 * * * * *'), cron('*/5 * * * * *')])
  switch (random.int(1, 20)) {
    case 1:
      return null
    case 2: {
      const soon = new Date((clock + random.int(1, 3)) * 60_000).toISOString().slice(0, 16)
      return { at: soon, ...place }
    }
    case 3:
    case 4:
      return { every: random.pick([4_000, 7_000, 15_000, 45_000]) }
    case 5:
    case 6:
      return cron('*/10 * * * * *')
    case 7:
    case 8:
      return cron('*/30 * * * * *')
    case 9:
    case 10:
      return cron('* * * * *')
    case 11:
      return cron(`*/2 ${hours} * * *`)
    case 12:
      return cron('*/6 * * * * *')
    case 13:
    case 14:
      return cron(`0-59 ${hours} * * *`)
    case 15:
      return cron(`0,5,10,15,20,25,30,35,40,45,50,55 0-59 ${hours} * * *`)
    case 16:
      return cron(`${(clock + random.int(1, 3)) % 60} ${hours} * * *`)
    case 17:
      return cron(`0-59 0-59 ${hours} * * *`)
    default:
      return cron(`0,10,20,30,40,50 0-59 ${hours} * * *`)
  }
}

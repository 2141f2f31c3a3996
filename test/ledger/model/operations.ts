import fc from 'fast-check'
import type { Outcome } from '../../../src/ledger/context.js'
import type { Definition } from '../../../src/ledger/types.js'
import type { ScheduleSpec } from '../../../src/schedule/types.js'
import type { Fate } from './world.js'

/** One step of a random story. Nodes, runs and definitions are named by number, modulo how many there are. */
export type Operation =
  | { readonly what: 'pass'; readonly ms: number }
  | { readonly what: 'attend'; readonly node: number; readonly room: number; readonly fate: Fate }
  | { readonly what: 'settle'; readonly run: number; readonly outcome: Outcome }
  | { readonly what: 'end'; readonly node: number; readonly returned: boolean }
  | { readonly what: 'deliver'; readonly which: number }
  | { readonly what: 'rewind'; readonly ms: number }
  | { readonly what: 'define'; readonly node: number; readonly definition: number; readonly fate: Fate }
  | {
      readonly what: 'trigger' | 'poke' | 'resume' | 'retire' | 'pause' | 'backfill' | 'cancel' | 'retry' | 'resend'
      readonly node: number
      readonly fate: Fate
      readonly number: number
    }

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** Time mostly goes on a little, sometimes a lot (nobody attends for a day or two), and sometimes the clock is set back. */
const pass: fc.Arbitrary<Operation> = fc
  .oneof(
    { weight: 6, arbitrary: fc.constantFrom(SECOND, 20 * SECOND, MINUTE, 7 * MINUTE, 20 * MINUTE) },
    { weight: 3, arbitrary: fc.constantFrom(HOUR, 3 * HOUR) },
    { weight: 1, arbitrary: fc.constantFrom(26 * HOUR, 49 * HOUR) },
    { weight: 1, arbitrary: fc.constantFrom(-SECOND, -50 * SECOND, -5 * MINUTE) },
  )
  .map((ms) => ({ what: 'pass', ms }))

const node = fc.nat({ max: 2 })
const fate = fc.constantFrom<Fate>('applied', 'applied', 'applied', 'applied', 'lost', 'late', 'doubled')

const outcome: fc.Arbitrary<Outcome> = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Outcome>({ kind: 'returned', result: null }) },
  { weight: 3, arbitrary: fc.constant<Outcome>({ kind: 'threw', error: { name: 'E', message: 'no', stack: null } }) },
  {
    weight: 2,
    arbitrary: fc.boolean().map((called): Outcome => ({ kind: 'handed-back', why: 'the node stops', called })),
  },
  { weight: 1, arbitrary: fc.constant<Outcome>({ kind: 'timed-out' }) },
  {
    weight: 1,
    arbitrary: fc.boolean().map((called): Outcome => ({ kind: 'refused-by-fence', token: 2 ** 51, called })),
  },
  { weight: 1, arbitrary: fc.constant<Outcome>({ kind: 'cancelled', why: 'cancel' }) },
)

/** A retired job has little to tell: that is rare. */
const COMMANDS = [
  ...(['trigger', 'poke', 'pause', 'resume', 'backfill', 'cancel', 'retry'] as const).flatMap((one) => [one, one, one]),
  ...(['resend', 'retire', 'trigger', 'resume'] as const),
] as const

export const operation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 8, arbitrary: pass },
  {
    weight: 9,
    arbitrary: fc
      .record({ node, room: fc.constantFrom(0, 1, 1, 2, 100), fate })
      .map((rest): Operation => ({ what: 'attend', ...rest })),
  },
  {
    weight: 6,
    arbitrary: fc.record({ run: fc.nat(), outcome }).map((rest): Operation => ({ what: 'settle', ...rest })),
  },
  {
    weight: 2,
    arbitrary: fc.record({ node, returned: fc.boolean() }).map((rest): Operation => ({ what: 'end', ...rest })),
  },
  { weight: 2, arbitrary: fc.nat().map((which): Operation => ({ what: 'deliver', which })) },
  {
    weight: 2,
    arbitrary: fc.record({ node, definition: fc.nat(), fate }).map((rest): Operation => ({ what: 'define', ...rest })),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      what: fc.constantFrom(...COMMANDS),
      node,
      fate,
      number: fc.nat({ max: 1_000 }),
    }) as fc.Arbitrary<Operation>,
  },
)

/** A store that was restored in part: the cursor goes back, the rows stay. */
export const rewind: fc.Arbitrary<Operation> = fc
  .constantFrom(MINUTE, 20 * MINUTE, 3 * HOUR, 26 * HOUR)
  .map((ms) => ({ what: 'rewind', ms }))

/** Where the stories begin: half a day before a clock is changed, or where nodes disagree about one. */
export const STARTS = [
  ['Helsinki', '2026-03-28T14:07:30Z'],
  ['Helsinki', '2026-10-24T14:07:30Z'],
  ['Lord Howe', '2026-10-03T03:07:30Z'],
  ['New York', '2026-11-01T00:07:30Z'],
  ['Vancouver', '2026-10-31T23:07:30Z'],
  ['UTC', '2026-11-29T10:07:30Z'],
] as const

function schedules(zone: string): fc.Arbitrary<ScheduleSpec | null> {
  const cron = (text: string, timeZone = zone): ScheduleSpec => ({ cron: text, timeZone, dstGap: 'next' })
  return fc.constantFrom<ScheduleSpec | null>(
    cron('0 9 * * *'),
    cron('30 1,2,3,14,15,16 * * *'),
    cron('0,20,40 0-23 * * *'),
    cron('30 2,3 * * *', 'Tokyo'),
    cron('0,30 0-23 * * *', 'New York'),
    { cron: '30 2,3,4,17 * * *', timeZone: zone, dstGap: 'skip' },
    cron('*/20 * * * *'),
    cron('30 */2 * * *', 'Lord Howe'),
    cron('* 2,3,15 * * *'),
    { every: 17 * MINUTE },
    null,
  )
}

export function definitions(zone: string): fc.Arbitrary<Definition> {
  const pokes = fc.option(fc.record({ pokeGraceMs: fc.constantFrom(SECOND, MINUTE, HOUR) }), { nil: {} })
  return fc.tuple(terms(zone), pokes).map(([one, poke]) => ({ ...one, ...poke }))
}

function terms(zone: string): fc.Arbitrary<Definition> {
  return fc.record({
    schedule: schedules(zone),
    concurrency: fc.constantFrom(1, 1, 1, 2, 3),
    queue: fc.constantFrom(0, 1, 3, 100),
    overlap: fc.constantFrom('skip', 'wait', 'merge', 'replace'),
    catchUp: fc.record({
      policy: fc.constantFrom('merge', 'each', 'skip'),
      withinMs: fc.constantFrom(null, null, 10 * MINUTE, 3 * HOUR, 48 * HOUR),
      most: fc.constantFrom(1, 2, 5, 100),
    }),
    retry: fc.record({
      limit: fc.constantFrom(0, 1, 3),
      delayMs: fc.constantFrom(0, SECOND, HOUR),
      factor: fc.constantFrom(1, 2),
      maxDelayMs: fc.constant(2 * HOUR),
    }),
    recover: fc.constantFrom(0, 1, 3),
    timeoutMs: fc.constant(null),
    pauseAfter: fc.constantFrom(null, null, null, 1, 2),
    graceMs: fc.constantFrom(0, MINUTE, 30 * MINUTE),
    fence: fc.constant(true),
  })
}

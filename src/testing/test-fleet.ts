import { parseDuration } from '../duration.js'
import { FleetcronError } from '../errors.js'
import { createFleet, type Fleet } from '../fleet/fleet.js'
import type { FleetOptions } from '../fleet/options.js'
import { createMemoryStore } from '../store/memory/index.js'
import { Bench, type RunJobRequest } from './bench.js'
import { TestClock } from './test-clock.js'

export interface TestFleetOptions {
  /** What the test's clock shows at the beginning. Default: the time of day as it is. */
  readonly now?: Date | string | number
}

/** Where a test's bench is kept on its fleet; the same for every copy of the package. */
const BENCH = Symbol.for('fleetcron/testing/bench')

/** What the NestJS door provides: the application's fleet, the options it was given, and the clock of a fleet of one process. */
const REAL_FLEET = Symbol.for('fleetcron/nest/real-fleet')
const MODULE = Symbol.for('fleetcron/nest/module')
const SOLO = Symbol.for('fleetcron/nest/solo')

/** An application, or a testing module, of NestJS. */
export interface TestApplication {
  get(token: never, options: { strict: boolean }): unknown
}

/** What NestJS's `Test.createTestingModule()` gives. */
export interface TestingBuilder {
  overrideProvider(token: unknown): {
    useFactory(options: { factory: (...injected: never[]) => unknown; inject?: never[] }): unknown
  }
}

/**
 * A fleet of one node for a test in plain Node: its ledger is in memory, and its clock stands still until `advance`. What
 * else `options` say holds, also the business database (`effects`).
 *
 * @example
 * const fleet = createTestFleet({ now: '2026-11-29T12:00:00Z' })
 * fleet.job('hello', { cron: '0 8 * * *', timeZone: 'UTC' }, (run) => run.date)
 * await fleet.start()
 * await advance(fleet, '1d')
 * await fleet.stop()
 */
export function createTestFleet(options: Partial<FleetOptions> & TestFleetOptions = {}): Fleet {
  const { now = Date.now(), ...others } = options
  return benched(others, clockAt(now))
}

/**
 * Gives a NestJS application a fleet with a ledger in memory and a clock that stands still, whatever `forRoot` said of its
 * store. Jobs that run on every node are that fleet's too, in local mode all of them. Returns the builder.
 *
 * @param options `autoStart: false`: the fleet does not start with the application, but with the first `runJob` or `advance`
 * @example
 * const module = await useTestFleet(Test.createTestingModule({ imports: [AppModule] })).compile()
 */
export function useTestFleet<Builder extends TestingBuilder>(
  builder: Builder,
  options: TestFleetOptions & { readonly autoStart?: boolean } = {},
): Builder {
  const { now = Date.now(), autoStart = true } = options
  builder.overrideProvider(SOLO).useFactory({ factory: () => clockAt(now) })
  builder.overrideProvider(REAL_FLEET).useFactory({
    factory: ({ fleet }: { readonly fleet: FleetOptions & { readonly clock: TestClock } }) => {
      const made = benched({ logger: false, ...fleet }, fleet.clock)
      if (!autoStart) withhold(made)
      return made
    },
    inject: [MODULE as never],
  })
  return builder
}

/**
 * Runs a job's handler once, through the real ledger, and gives the run as it ended, failed or not. With `date`: for the
 * job's occurrence of that date in its zone (the first of the day), which has to be past on the test's clock; without: as
 * a trigger does, with `data`.
 *
 * @param target the application, its testing module, or a fleet of `createTestFleet`
 * @param job its name; `schedule/<name>` for a schedule kept in the store
 * @throws `JOB_UNKNOWN`, `OPTION_INVALID`
 */
export function runJob(target: TestApplication | Fleet, job: string, request: RunJobRequest = {}) {
  return benchOf(target).runJob(job, request)
}

/**
 * Turns the clock, timer by timer, and waits for every handler that becomes due. One that has not ended after two real
 * seconds is taken to wait for the clock, and time goes on. Gives what the clock shows then.
 *
 * @param duration `'1d'`, `'90s'`, or milliseconds
 */
export function advance(target: TestApplication | Fleet, duration: string | number): Promise<Date> {
  return benchOf(target).advance(parseDuration(duration, 'advance'))
}

function clockAt(now: Date | string | number): TestClock {
  const start = new Date(now).getTime()
  if (Number.isNaN(start)) throw new FleetcronError('OPTION_INVALID', `now: '${String(now)}' is not a moment in time.`)
  return new TestClock(start)
}

function benched(options: Partial<FleetOptions>, clock: TestClock): Fleet {
  const store = createMemoryStore({ now: () => clock.wall(), fleet: options.fleet ?? 'test' })
  const fleet = createFleet({ fleet: 'test', logger: false, ...options, store, clock, attends: true })
  // Configurable: the door hands out the fleet behind a proxy, which may then answer with a proxy of the bench.
  Object.defineProperty(fleet, BENCH, { value: new Bench(fleet, clock, store), configurable: true })
  return fleet
}

/** The application's own start is answered, and does nothing; whoever starts it afterwards means it. */
function withhold(fleet: Fleet): void {
  const start = fleet.start.bind(fleet)
  fleet.start = async () => {
    fleet.start = start
  }
}

function benchOf(target: object): Bench {
  const own = (target as { [BENCH]?: Bench })[BENCH]
  if (own !== undefined) return own
  const { get } = target as { get?: unknown }
  const fleet =
    typeof get === 'function' ? (target as TestApplication).get(REAL_FLEET as never, { strict: false }) : null
  const found = (fleet as { [BENCH]?: Bench } | null)?.[BENCH]
  if (found !== undefined) return found
  const message =
    'There is no fleet under test here: make one with createTestFleet(), or prepare the application with ' +
    'useTestFleet(Test.createTestingModule(…)) before compile().'
  throw new FleetcronError('OPTION_INVALID', message)
}

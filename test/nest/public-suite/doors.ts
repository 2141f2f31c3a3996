import * as schedule from '@nestjs/schedule'
import type { Clock } from '../../../src/fleet/clock.js'
import * as fleetcron from '../../../src/nest/index.js'
import { createMemoryStore } from '../../../src/store/memory/index.js'
import type { Door } from './door.js'

/** @nestjs/schedule itself. */
export const SCHEDULE: Door = {
  ...schedule,
  forRoot: (options) => schedule.ScheduleModule.forRoot(options),
  forRootAsync: (options) => schedule.ScheduleModule.forRootAsync(options),
}

/** Only the import is changed. */
export const LOCAL: Door = {
  ...fleetcron,
  forRoot: (options) => fleetcron.ScheduleModule.forRoot(options),
  forRootAsync: (options) => fleetcron.ScheduleModule.forRootAsync(options),
}

/** The import is changed, and a fleet is named. */
export const FLEET: Door = {
  ...fleetcron,
  forRoot: (options) => fleetcron.FleetModule.forRoot({ ...options, ...fleetOptions() }),
  forRootAsync: ({ useFactory, useClass, useExisting, imports = [] }) => {
    const maker = useClass ?? useExisting
    return fleetcron.FleetModule.forRootAsync({
      imports,
      useFactory: () => {
        const options = useFactory?.() ?? (maker === undefined ? {} : new maker().createScheduleOptions())
        return { ...options, ...fleetOptions() }
      },
    })
  },
}

function fleetOptions() {
  return {
    fleet: 'suite',
    store: createMemoryStore({ now: () => Date.now() }),
    clock: pageTime(),
    logger: false,
  } as const
}

/** All of the fleet's time is the page's: what fake timers turn. */
function pageTime(): Clock {
  let ids = 0
  return {
    wall: () => Date.now(),
    monotonic: () => Date.now(),
    suspended: () => 0,
    after: (ms, fn) => {
      const timer = setTimeout(fn, ms)
      return { cancel: () => clearTimeout(timer) }
    },
    random: () => 0.5,
    id: () => `id-${++ids}`,
  }
}

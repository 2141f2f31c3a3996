import { type DynamicModule, Global, Inject, Module, type Provider } from '@nestjs/common'
import { DiscoveryModule, ModulesContainer } from '@nestjs/core'
import { SchedulerRegistry } from '@nestjs/schedule'
import type { Effects } from '../effect/port.js'
import { FleetcronError } from '../errors.js'
import { createFleet, type Fleet } from '../fleet/fleet.js'
import { optionInvalid } from '../fleet/option-values.js'
import { absentFleet, afterReady } from './early-fleet.js'
import { FleetHealthIndicator } from './health.js'
import { FleetLifecycle } from './lifecycle.js'
import { nestLogger } from './logger.js'
import { type FleetModuleAsyncOptions, type FleetModuleOptions, type ResolvedModule, resolveModule } from './options.js'
import { Pokers } from './pokers.js'
import { FleetSetup } from './setup.js'
import { EFFECTS, FLEET, FLEET_OPTIONS, MODULE, REAL_FLEET, SOLO } from './tokens.js'
import { WebDoors } from './web-doors.js'

/** Where a module's hooks stand; on the classes of every copy of the package, since two copies may be loaded. */
const PLACE: unique symbol = Symbol.for('fleetcron/nest/place') as never

/** Holds the fleet for the whole application, and finds its jobs: the hooks of a global module come first. */
@Global()
@Module({})
class FleetProviderModule {
  static readonly [PLACE] = 'last'
}

/**
 * Gives the application its jobs: methods with `@Cron`, `@Interval` and `@Timeout`. With `fleet` and `store` they are the
 * fleet's, and `@InjectFleet()` is its commands; without both this is plain @nestjs/schedule.
 *
 * @throws FleetcronError `STORE_MISSING` at start where a fleet is named and its store is undefined; `JOB_DUPLICATE`
 */
@Module({})
export class FleetModule {
  /** @internal */
  static readonly [PLACE] = 'first'

  constructor(@Inject(ModulesContainer) modules: ModulesContainer) {
    placeBeforeRoot(modules)
  }

  static forRoot(options: FleetModuleOptions = {}): DynamicModule {
    return FleetModule.forRootAsync({ useFactory: () => options })
  }

  static forRootAsync(options: FleetModuleAsyncOptions): DynamicModule {
    const { imports = [] } = options
    const exported = [FLEET, EFFECTS, SchedulerRegistry, FleetHealthIndicator]
    const fleet: DynamicModule = {
      module: FleetProviderModule,
      imports: [...imports, DiscoveryModule],
      providers: [...optionsOf(options), ...PROVIDERS],
      exports: [...exported, MODULE, REAL_FLEET, FleetSetup],
    }
    return {
      module: FleetModule,
      imports: [DiscoveryModule, fleet],
      providers: [FleetLifecycle, Pokers],
      exports: [fleet],
    }
  }
}

const PROVIDERS: Provider[] = [
  // A factory: a value that is put in place of another one is not taken by every version of NestJS.
  { provide: SOLO, useFactory: () => null },
  { provide: MODULE, inject: [FLEET_OPTIONS, SOLO], useFactory: resolveModule },
  {
    provide: REAL_FLEET,
    inject: [MODULE],
    useFactory: ({ fleet }: ResolvedModule): Fleet =>
      fleet === null ? absentFleet() : createFleet({ ...fleet, logger: fleet.logger ?? nestLogger() }),
  },
  {
    provide: FLEET,
    inject: [MODULE, REAL_FLEET, FleetSetup],
    useFactory: ({ isLocal }: ResolvedModule, real: Fleet, setup: FleetSetup): Fleet =>
      isLocal ? absentFleet() : afterReady(real, () => setup.ready()),
  },
  { provide: EFFECTS, inject: [MODULE], useFactory: ({ effects }: ResolvedModule) => effects ?? absentEffects() },
  SchedulerRegistry,
  FleetSetup,
  FleetHealthIndicator,
  WebDoors,
]

function optionsOf({ inject = [], useFactory, useClass, useExisting }: FleetModuleAsyncOptions): Provider[] {
  if ([useFactory, useClass, useExisting].filter((way) => way !== undefined).length !== 1) {
    throw optionInvalid('FleetModule.forRootAsync()', 'write exactly one of useFactory, useClass and useExisting.')
  }
  if (useFactory !== undefined) return [{ provide: FLEET_OPTIONS, inject, useFactory }]
  const factory = (useClass ?? useExisting) as NonNullable<typeof useClass>
  const made: Provider = {
    provide: FLEET_OPTIONS,
    inject: [factory],
    useFactory: (maker: InstanceType<typeof factory>) =>
      maker.createFleetOptions?.() ?? maker.createScheduleOptions?.() ?? {},
  }
  return useClass === undefined ? [made] : [made, { provide: factory, useClass: factory }]
}

/** What `@InjectEffects()` gives where there is no business database: whoever uses it is told. */
function absentEffects(): Effects {
  const refuse = async () => {
    const message = 'There is no business database: hand one in as `effects` to FleetModule.forRoot().'
    throw new FleetcronError('EFFECT_INVALID', message)
  }
  const all = { once: refuse, call: refuse, ensure: refuse, raise: refuse, uncertain: refuse, resolve: refuse }
  return all as unknown as Effects
}

/**
 * Hooks run module by module in the order of their distance from the root: the farthest is initialised first and
 * destroyed last. Nearer than the root, the fleet starts after everything that its handlers use, and ends before it; what
 * finds the jobs is farther than everything.
 */
function placeBeforeRoot(modules: ModulesContainer): void {
  const own = [...modules.values()].filter(
    ({ metatype }) => metatype !== null && PLACE in metatype && metatype[PLACE] === 'first',
  )
  if (own.length > 1) {
    throw new FleetcronError(
      'OPTION_INVALID',
      'FleetModule.forRoot() is imported twice, and each would run every job: import it once, in the root module.',
    )
  }
  for (const module of own) module.distance = -1
  for (const module of modules.values()) {
    const { metatype } = module
    if (metatype !== null && PLACE in metatype && metatype[PLACE] === 'last') module.distance = Number.POSITIVE_INFINITY
  }
}

import { type DynamicModule, Global, Inject, Module, type ModuleMetadata } from '@nestjs/common'
import { DiscoveryModule, ModulesContainer } from '@nestjs/core'
import { FleetcronError } from '../errors.js'
import { createFleet, type Fleet } from '../fleet/fleet.js'
import type { FleetOptions } from '../fleet/options.js'
import { FleetLifecycle } from './lifecycle.js'
import { nestLogger } from './logger.js'
import { FLEET, FLEET_OPTIONS } from './tokens.js'

/** Options of the fleet. Its lines go through Nest's logger unless `logger` says otherwise. */
export type FleetModuleOptions = FleetOptions

export interface FleetModuleAsyncOptions extends Pick<ModuleMetadata, 'imports'> {
  /** Tokens whose values `useFactory` is given, in order. */
  readonly inject?: NonNullable<
    Extract<NonNullable<ModuleMetadata['providers']>[number], { inject?: unknown }>['inject']
  >
  // biome-ignore lint/suspicious/noExplicitAny: what is injected has the types that the user writes.
  readonly useFactory: (...injected: any[]) => FleetModuleOptions | Promise<FleetModuleOptions>
}

/** Holds the fleet for the whole application. It has no hooks: those of a global module run last. */
@Global()
@Module({})
class FleetProviderModule {}

/**
 * Gives the application a fleet: methods with `@Cron` are its jobs, `@InjectFleet()` is its commands.
 *
 * @throws FleetcronError `STORE_MISSING` at start where a fleet is named and its store is undefined; `JOB_DUPLICATE`
 */
@Module({})
export class FleetModule {
  constructor(@Inject(ModulesContainer) modules: ModulesContainer) {
    placeBeforeRoot(modules)
  }

  static forRoot(options: FleetModuleOptions): DynamicModule {
    return FleetModule.forRootAsync({ useFactory: () => options })
  }

  static forRootAsync({ imports = [], inject = [], useFactory }: FleetModuleAsyncOptions): DynamicModule {
    const fleet: DynamicModule = {
      module: FleetProviderModule,
      imports,
      providers: [
        { provide: FLEET_OPTIONS, inject, useFactory },
        {
          provide: FLEET,
          inject: [FLEET_OPTIONS],
          useFactory: (options: FleetModuleOptions): Fleet =>
            createFleet({ ...options, logger: options.logger ?? nestLogger() }),
        },
      ],
      exports: [FLEET],
    }
    return { module: FleetModule, imports: [DiscoveryModule, fleet], providers: [FleetLifecycle] }
  }
}

/**
 * Hooks run module by module in the order of their distance from the root: the farthest is initialised first and
 * destroyed last. Nearer than the root, the fleet starts after everything that its handlers use, and ends before it.
 */
function placeBeforeRoot(modules: ModulesContainer): void {
  const own = [...modules.values()].filter((module) => module.metatype === FleetModule)
  if (own.length > 1) {
    throw new FleetcronError(
      'OPTION_INVALID',
      'FleetModule.forRoot() is imported twice, and each would run every job: import it once, in the root module.',
    )
  }
  for (const module of own) module.distance = -1
}

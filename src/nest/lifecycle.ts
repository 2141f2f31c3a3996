import {
  Inject,
  Injectable,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
  type OnModuleInit,
} from '@nestjs/common'
import { DiscoveryService, ModuleRef } from '@nestjs/core'
import type { Fleet } from '../fleet/fleet.js'
import { findJobs } from './explorer.js'
import { FLEET } from './tokens.js'

/**
 * Ties a fleet's life to the application's: jobs are known once every module is there, the loop starts when the whole
 * application is up, and runs drain before anything that handlers use is taken away.
 *
 * Nest destroys a module before those it is farther from the root than, global ones last: a handler's database may well
 * close before a fleet that stands beside it. So this module moves itself in front of the root (module.ts): last up, first
 * down.
 */
@Injectable()
export class FleetLifecycle implements OnModuleInit, OnApplicationBootstrap, OnModuleDestroy {
  constructor(
    @Inject(FLEET) private readonly fleet: Fleet,
    @Inject(DiscoveryService) private readonly discovery: DiscoveryService,
    @Inject(ModuleRef) private readonly moduleRef: ModuleRef,
  ) {}

  onModuleInit(): void {
    for (const { name, options, handler } of findJobs(this.discovery, this.moduleRef)) {
      this.fleet.job(name, options, handler)
    }
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.fleet.start()
  }

  async onModuleDestroy(): Promise<void> {
    await this.fleet.stop()
  }
}

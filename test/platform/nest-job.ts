import 'reflect-metadata'
import { createServer } from 'node:net'
import { Injectable, Module, type OnModuleDestroy } from '@nestjs/common'
import { Cron, FleetModule, Interval, type Run, runFleetJob } from '../../src/nest/index.js'
import { LEASE, note, TERMS, WORK } from './jobs.js'

/** A NestJS application with a main of its own for platforms: `node nest-job.mjs <job> …`. */
class Billing implements OnModuleDestroy {
  @Cron('* * * * * *', { name: 'other', timeZone: 'UTC' })
  other() {
    note('other')
  }

  @Interval('refresh', 100, { scope: 'node' })
  refresh() {
    note('refresh')
  }

  onModuleDestroy() {
    if (process.env.SAY_CLOSED) process.stderr.write('closed\n')
  }
}

for (const [name, { cron, ...terms }] of Object.entries(TERMS)) {
  const method = `job_${name}`
  Object.defineProperty(Billing.prototype, method, { value: (run: Run) => WORK[name as keyof typeof TERMS](run) })
  Cron(cron, { name, ...terms })(
    Billing.prototype,
    method,
    Object.getOwnPropertyDescriptor(Billing.prototype, method) as never,
  )
}
Injectable()(Billing)

const { LEDGER, WITHOUT } = process.env
const options = { fleet: 'billing', service: 'billing', store: LEDGER, lease: LEASE } as const
const imports = WITHOUT === 'module' ? [] : [WITHOUT === 'fleet' ? FleetModule.forRoot() : FleetModule.forRoot(options)]

@Module({ imports, providers: [Billing] })
export class AppModule {}

createServer().listen(0)
if (!process.env.ONLY_EXPORT) await runFleetJob(AppModule, process.argv.slice(2))

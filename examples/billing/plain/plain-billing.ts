import { Inject, Injectable, type OnModuleInit } from '@nestjs/common'
import { Cron, SchedulerRegistry } from '@nestjs/schedule'
import type { Customer } from '../shared/customers.js'
import type { Db } from '../shared/database.js'
import { CUSTOMERS, DATABASE } from '../shared/database.module.js'
import { createInvoice } from '../shared/invoices.js'
import { onRequest, tell, tellProgress } from '../shared/messages.js'
import { Pace } from '../shared/pace.js'
import { nodeLabel, PERIOD_MS, periodAt } from '../shared/periods.js'
import { ExpiringLock } from './lock.js'
import { WorkLog } from './work-log.js'

/** The same billing without Fleetcron: every node's timer fires, and the one that takes the lock does the work. */
@Injectable()
export class PlainBilling implements OnModuleInit {
  private working: Promise<unknown> = Promise.resolve()

  constructor(
    @Inject(DATABASE) private readonly database: Db,
    @Inject(CUSTOMERS) private readonly customers: readonly Customer[],
    @Inject(ExpiringLock) private readonly lock: ExpiringLock,
    @Inject(WorkLog) private readonly log: WorkLog,
    @Inject(SchedulerRegistry) private readonly scheduler: SchedulerRegistry,
  ) {}

  onModuleInit(): void {
    onRequest('pause', async () => {
      await this.scheduler.getCronJob('invoices').stop()
      await this.working
      return { type: 'paused' }
    })
  }

  @Cron('*/2 * * * * *', { name: 'invoices', timeZone: 'UTC' })
  bill(): void {
    this.working = this.lock.hold(async () => {
      for (const period of this.openPeriods()) await this.billPeriod(period)
    })
  }

  /** Everything since the last period that somebody finished: what a dead node left behind is taken up by the next. */
  private openPeriods(): string[] {
    const now = Date.parse(periodAt(Date.now()))
    const finished = this.log.lastFinished()
    const open: string[] = []
    for (let at = finished === null ? now : Date.parse(finished) + PERIOD_MS; at <= now; at += PERIOD_MS) {
      open.push(periodAt(at))
    }
    return open
  }

  private async billPeriod(period: string): Promise<void> {
    const attempt = this.log.begin(period, nodeLabel())
    tell({ type: 'began', period, attempt })
    const pace = new Pace(this.customers.length, new Date(period))
    let done = this.customers.length - this.due(period).length
    for (const customer of this.due(period)) {
      const invoice = { customer, period, periodStart: new Date(period), node: nodeLabel() }
      this.database.transaction(() => createInvoice(this.database, invoice)).immediate()
      done += 1
      tellProgress(period, done, this.customers.length)
      await pace.after(done)
    }
    this.log.end(period, attempt)
    tell({ type: 'ended', period, attempt, outcome: 'succeeded' })
  }

  /** Customers without an invoice for the period. */
  private due(period: string): Customer[] {
    const rows = this.database.prepare('SELECT customer_id AS id FROM invoice WHERE period = ?').all(period)
    const billed = new Set((rows as { id: string }[]).map((row) => row.id))
    return this.customers.filter((customer) => !billed.has(customer.id))
  }
}

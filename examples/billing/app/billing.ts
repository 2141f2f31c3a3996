import { Inject, Injectable } from '@nestjs/common'
import { Cron, type Run } from 'fleetcron/nest'
import { chargeAt } from '../provider/client.js'
import type { Config } from '../shared/config.js'
import type { Customer } from '../shared/customers.js'
import type { Db } from '../shared/database.js'
import { CONFIG, CUSTOMERS } from '../shared/database.module.js'
import { createInvoice, type Invoice } from '../shared/invoices.js'
import { Pace } from '../shared/pace.js'
import { Observer } from './observer.js'
import { termsOf } from './terms.js'

declare module 'fleetcron' {
  interface Register {
    tx: Db
  }
}

/** One invoice per customer and period, on whichever node the period falls to. */
@Injectable()
export class Billing {
  constructor(
    @Inject(CUSTOMERS) private readonly customers: readonly Customer[],
    @Inject(CONFIG) private readonly config: Config,
    @Inject(Observer) private readonly observer: Observer,
  ) {}

  @Cron('*/2 * * * * *', { name: 'invoices', timeZone: 'UTC', ...termsOf(process.env.BILLING_RELEASE) })
  async bill(run: Run): Promise<void> {
    const pace = new Pace(this.customers.length, run.scheduledAt)
    for (const [index, customer] of this.customers.entries()) {
      await this.billOne(run, { customer, period: run.key, periodStart: run.scheduledAt, node: run.node })
      this.observer.invoiced(run, index + 1, this.customers.length)
      await pace.after(index + 1)
    }
  }

  /** Once for ever: a second attempt, on this node or another, finds the key and goes on to the next customer. */
  private async billOne(run: Run, invoice: Invoice): Promise<void> {
    try {
      await run.once(`invoice:${invoice.customer.id}:${run.key}`, (tx) => createInvoice(tx, invoice))
      if (this.config.provider !== null) await this.charge(run, invoice.customer, this.config.provider)
    } catch (error) {
      await this.observer.refused(run, invoice, error)
      throw error
    }
  }

  /** Not part of the transaction, and once all the same: what nobody knows is looked up before anything is sent again. */
  private async charge(run: Run, { id, price, currency }: Customer, provider: string): Promise<void> {
    const reference = `charge:${run.key}:${id}`
    await run.call(reference, chargeAt(provider, { reference, amount: price, currency }))
  }
}

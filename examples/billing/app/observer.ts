import { subscribe } from 'node:diagnostics_channel'
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common'
import { type Fleet, FleetcronError, type FleetEvents, type Run } from 'fleetcron'
import { InjectFleet } from 'fleetcron/nest'
import type { Config } from '../shared/config.js'
import { CONFIG } from '../shared/database.module.js'
import { createInvoice, type Invoice } from '../shared/invoices.js'
import { onRequest, tell, tellProgress } from '../shared/messages.js'

/** What the demonstration sees of a node, and does with one that was asleep. A real application has no such thing. */
@Injectable()
export class Observer implements OnModuleInit {
  /** What the effects of each attempt are fenced by, by its token. */
  private readonly resources = new Map<number, string>()

  constructor(
    @InjectFleet() private readonly fleet: Fleet,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  onModuleInit(): void {
    subscribe('fleetcron:run-started', (message) => {
      const { key, attempt, token, run } = message as FleetEvents['run-started']
      this.resources.set(token, run.resource)
      tell({ type: 'began', period: key, attempt })
    })
    subscribe('fleetcron:run-settled', (message) => {
      const { key, attempt, outcome, result } = message as FleetEvents['run-settled']
      tell({ type: 'ended', period: key, attempt, outcome: result === 'lost' ? 'is another node’s by now' : outcome })
    })
    onRequest('pause', async () => {
      await this.fleet.pause('invoices', { why: 'the demonstration ends' })
      return { type: 'paused' }
    })
    onRequest('resume', async () => {
      await this.fleet.resume('invoices')
      return { type: 'resumed' }
    })
  }

  invoiced(run: Run, done: number, of: number): void {
    tellProgress(run.key, done, of)
  }

  /**
   * A node that slept past its lease is told by its signal before it reaches the database. That is a courtesy: what makes
   * it safe is the fence. So the same write is tried once more, without asking the signal.
   */
  async refused(run: Run, invoice: Invoice, error: unknown): Promise<void> {
    if (isStale(error)) this.tellRefused(run, 'fence', error)
    else if (run.signal.aborted) await this.tryOnceMore(run, invoice, error)
  }

  private async tryOnceMore(run: Run, invoice: Invoice, error: unknown): Promise<void> {
    this.tellRefused(run, 'signal', error)
    const { key, attempt, token, job } = run
    const signal = new AbortController().signal
    const resource = this.resources.get(token) ?? ''
    const effects = this.fleet.effects.bind({
      fleet: this.fleet.name,
      job,
      runKey: key,
      resource,
      token,
      attempt,
      fence: true,
      leaseMs: this.config.leaseMs,
      signal,
    })
    try {
      await effects.once(`invoice:${invoice.customer.id}:${key}`, (tx) => createInvoice(tx, invoice))
    } catch (refusal) {
      if (!isStale(refusal)) throw refusal
      this.tellRefused(run, 'fence', refusal)
    }
  }

  private tellRefused(run: Run, by: 'signal' | 'fence', error: unknown): void {
    tell({ type: 'refused', period: run.key, by, why: error instanceof Error ? error.message : String(error) })
  }
}

/** The fence has seen a newer attempt. */
function isStale(error: unknown): boolean {
  return error instanceof FleetcronError && error.code === 'STALE_TOKEN'
}

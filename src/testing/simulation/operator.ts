import type { Commands } from '../../fleet/commands.js'
import { requestId } from '../../fleet/request-id.js'
import { manualKey } from '../../ledger/index.js'
import { Random } from '../random.js'
import type { Deed } from './acts.js'
import type { AskedSeen } from './observations.js'
import { SERVICE, type World } from './world.js'

type Ask = Extract<Deed, { act: 'ask' }>

/** Somebody who asks things of the fleet through one of its nodes, sometimes twice and through another one. */
export class Operator {
  readonly #world: World
  readonly #random: Random
  #requests = 0

  constructor(world: World) {
    this.#world = world
    this.#random = new Random(`operator/${world.plan.seed}`)
  }

  ask(deed: Ask): void {
    const { command, node, again } = deed
    const job = `${SERVICE}:${deed.job}`
    this.#requests += 1
    const request = `q${this.#requests}`
    const data = this.#random.chance(0.5) ? { n: this.#random.int(1, 9) } : undefined
    const send = (through: string, name: string, with_: unknown) =>
      this.#send(through, command, job, name, with_, (commands, about) =>
        this.#carryOut(commands, command, job, name, with_, about),
      )
    send(node, request, data)
    if (!again) return
    // The caller has no answer, or does not wait for one: it asks again elsewhere, with the same key.
    const other = this.#random.pick(this.#world.plan.nodes).name
    this.#world.clock.after(this.#random.pick([0, 30, 5_000, 20_000]), () => {
      send(other, request, this.#random.chance(0.8) ? data : { other: true })
    })
  }

  /** In the calm every job is resumed, and every run that does not end by itself is cancelled. */
  tidy(): void {
    const { ledger } = this.#world.witness
    const { resumeAt, lingerAt, cancelAt, tooLongMs } = TIDY[this.#world.plan.pace]
    const at = (delayMs: number, act: () => void) => void this.#world.clock.after(delayMs, act)
    at(resumeAt, () => this.resumeAll())
    if (this.#random.chance(0.5)) at(lingerAt, () => this.#linger())
    for (const delay of cancelAt) {
      at(delay, () => {
        for (const { header } of ledger.jobs()) {
          for (const run of ledger.live(header.job)) {
            // Who began before the store's clock was set back may have begun later than now.
            const runsFor = this.#world.storeNow - (run.startedAt ?? this.#world.storeNow)
            const old = runsFor > tooLongMs || runsFor < 0
            if (old && run.stop === null) this.#through('cancel', header.job, (commands) => commands.cancel(run))
          }
        }
      })
    }
  }

  /** Ends every pause. */
  resumeAll(): void {
    for (const { header } of this.#world.witness.ledger.jobs()) {
      if (header.pause !== null) this.#through('resume', header.job, (commands) => commands.resume(header.job))
    }
  }

  /** Starts a run that takes its time, and then kills its node or cancels it: takeover and cancellation have their limits. */
  #linger(): void {
    const { clock, living, witness } = this.#world
    const jobs = witness.ledger.jobs().filter(({ header }) => !header.retired)
    if (jobs.length === 0) return
    const { job } = this.#random.pick(jobs).header
    this.#requests += 1
    const key = `q${this.#requests}`
    const node = this.#started()
    if (node === undefined) return
    const data = { linger: TIDY[this.#world.plan.pace].lingers }
    this.#send(node, 'trigger', job, key, data, (commands) => commands.trigger(job, { key, data }))
    const kills = this.#random.chance(0.6)
    clock.after(this.#random.int(1_500, TIDY[this.#world.plan.pace].killWithin), () => {
      const run = witness.ledger.run(job, manualKey(requestId(job, key)))
      if (run?.state !== 'running') return
      const holder = [...living.values()].find((one) => run.attempts.at(-1)?.node === one.process.name)
      if (kills && holder && living.size > 1) {
        this.#world.kill(holder.plan.name)
        clock.after(30_000, () => this.#world.start(holder.plan.name))
      } else this.#through('cancel', job, (commands) => commands.cancel(run))
    })
  }

  /** A node that can be asked: one whose first request was lost in an outage waits long for its answer. */
  #started(): string | undefined {
    const [first] = [...this.#world.living].find(([, { node }]) => node.health().state === 'running') ?? []
    return first
  }

  #through(command: AskedSeen['command'], job: string, act: (commands: Commands) => Promise<unknown>): void {
    this.#requests += 1
    const node = this.#started()
    if (node !== undefined) this.#send(node, command, job, `q${this.#requests}`, undefined, act)
  }

  #send(
    node: string,
    command: AskedSeen['command'],
    job: string,
    request: string,
    data: unknown,
    act: (commands: Commands, about: (run: string) => void) => Promise<unknown>,
  ): void {
    const living = this.#world.living.get(node)
    if (living?.process.state !== 'running') return
    this.#world.tally.count(`asked ${command}`)
    const process = living.process.name
    const askedAt = this.#world.clock.now
    let run: string | null = null
    const told = (answer: string) => {
      const text = data === undefined ? null : JSON.stringify(data)
      this.#world.report({
        kind: 'asked',
        at: this.#world.clock.now,
        process,
        command,
        job,
        request,
        answer,
        data: text,
        askedAt,
        run,
      })
    }
    const about = (key: string) => {
      run = key
    }
    act(living.node.commands, about).then(
      (value) => told(typeof value === 'object' && value !== null && 'key' in value ? String(value.key) : 'ok'),
      (error) => told(`error ${(error as { code?: string }).code ?? error}`),
    )
  }

  async #carryOut(
    commands: Commands,
    command: Ask['command'],
    job: string,
    key: string,
    data: unknown,
    about: (run: string) => void,
  ): Promise<unknown> {
    const { ledger } = this.#world.witness
    switch (command) {
      case 'trigger':
        return commands.trigger(job, data === undefined ? { key } : { key, data })
      case 'pause': {
        const until = this.#random.chance(0.4) ? { until: this.#world.storeNow + this.#random.int(3_000, 40_000) } : {}
        return commands.pause(job, until)
      }
      case 'resume':
        return commands.resume(job)
      case 'retire':
        return commands.retire(job)
      case 'backfill': {
        const to = this.#world.storeNow - this.#random.int(100, 20_000)
        const most = this.#world.plan.pace === 'brief' ? 8_000 : 40_000
        return commands.backfill(job, { from: to - this.#random.int(1_000, most), to })
      }
      case 'cancel': {
        const runs = [...ledger.live(job)]
        if (runs.length === 0) return null
        const run = this.#random.pick(runs)
        about(run.key)
        return commands.cancel(run)
      }
      case 'retry': {
        const runs = [...ledger.runs(job)].filter((run) => run.state === 'failed' || run.state === 'missed')
        if (runs.length === 0) return null
        const run = this.#random.pick(runs)
        about(run.key)
        return commands.retry(run)
      }
    }
  }
}

/** When what is done in the calm, counted from its beginning. Handlers of the calm are quick: what has run too long hangs. */
const TIDY = {
  brief: {
    resumeAt: 3_500,
    lingerAt: 9_000,
    lingers: 7,
    killWithin: 3_000,
    cancelAt: [4_500, 9_000, 13_000],
    tooLongMs: 4_000,
  },
  long: {
    resumeAt: 12_000,
    lingerAt: 22_000,
    lingers: 24,
    killWithin: 6_000,
    cancelAt: [15_000, 40_000, 55_000],
    tooLongMs: 10_000,
  },
} as const

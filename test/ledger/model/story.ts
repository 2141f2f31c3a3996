import assert from 'node:assert/strict'
import * as ledger from '../../../src/ledger/index.js'
import type { Definition, Run } from '../../../src/ledger/types.js'
import { NEWER, rules, zonesOf } from '../zones.js'
import { Checks, checkCovers } from './checks.js'
import type { Operation } from './operations.js'
import { type Node, World } from './world.js'

const HOUR = 3_600_000

/** What the three nodes know of clocks: one is behind, one ahead of what the first knows. */
const ZONES = [
  zonesOf(),
  NEWER,
  zonesOf({
    Helsinki: rules(2, [
      ['2026-04-05T01:00Z', 3],
      ['2026-10-18T01:00Z', 2],
    ]),
    'Lord Howe': rules(11),
    'New York': rules(-4, [['2026-11-08T06:00Z', -5]]),
  }),
]

/** Plays a story and checks every write in it; then lets the fleet come to rest. */
export class Story {
  readonly checks = new Checks()
  readonly world: World
  private seen = new Map<string, { hash: string; at: number }>()
  private requests = 0

  constructor(
    start: number,
    private readonly definitions: readonly Definition[],
    differing: boolean,
  ) {
    const nodes = ZONES.map((zones, at): Node => {
      const known = differing ? zones : zonesOf()
      return { name: `n${at + 1}`, zones: known, session: `s${at + 1}`, handlers: new Map() }
    })
    this.world = new World(start, nodes, {
      commit: (applied) => this.checks.commit(applied, this.world.rows, this.world.now),
      settle: (before, after, job) => this.checks.settle(before, after, job, this.world.now),
    })
    this.define(this.node(0), 0, 'applied')
  }

  play(operations: readonly Operation[]): void {
    for (const operation of operations) this.step(operation)
    if (this.checks.isWhole) checkCovers(this.world)
  }

  /** Faults stop: one node attends as often as it is woken, and every handler returns. All that waits is worked off (L3). */
  rest(): void {
    const { world } = this
    const node = this.node(0)
    for (const other of world.nodes.slice(1)) world.endSession(other, false)
    world.endSession(node, true)
    node.handlers.clear()
    for (let rounds = 0; ; rounds += 1) {
      assert(rounds < 1_000, 'L3: the backlog is worked off')
      if (world.aggregate.header.pause !== null) this.ask(node, 'resume', 0, 'applied')
      world.attend(node, 100, 'applied')
      const running = world.live().filter(({ state }) => state === 'running')
      for (const run of running) world.settle(run, { kind: 'returned', result: null })
      const live = world.live()
      const { wakeAt } = world.aggregate.header
      if (live.length === 0 && (wakeAt === null || wakeAt > world.now)) break
      if (running.length === 0) world.now = Math.max(world.now, ...live.map(({ readyAt }) => readyAt)) + 1_000
    }
    if (this.checks.isWhole) checkCovers(world)
  }

  private node(at: number): Node {
    const node = this.world.nodes[at % this.world.nodes.length]
    assert(node !== undefined)
    return node
  }

  private step(operation: Operation): void {
    const { world } = this
    switch (operation.what) {
      case 'pass':
        world.now += operation.ms
        break
      case 'attend':
        this.attend(operation)
        break
      case 'settle': {
        const handlers = world.nodes.flatMap((node) => [...node.handlers.values()])
        const strays = world
          .live()
          .filter(({ state, attemptId }) => state === 'running' && !handlers.some((run) => run.attemptId === attemptId))
        const all: Run[] = [...handlers, ...strays]
        const run = all[operation.run % Math.max(1, all.length)]
        if (run !== undefined) world.settle(run, operation.outcome)
        break
      }
      case 'end':
        world.endSession(this.node(operation.node), operation.returned)
        break
      case 'rewind':
        this.checks.isWhole = false
        world.rewind(operation.ms)
        break
      case 'deliver':
        world.deliver(operation.which)
        break
      case 'define':
        this.define(this.node(operation.node), operation.definition, operation.fate)
        break
      default:
        this.ask(this.node(operation.node), operation.what, operation.number, operation.fate)
    }
  }

  /** Attending again at once finds nothing left to do, and no more is granted than there is room for. */
  private attend({ node: at, room, fate }: Extract<Operation, { what: 'attend' }>): void {
    const { world } = this
    const node = this.node(at)
    const change = world.attend(node, room, fate)
    const grants = change?.runs.filter(({ run }) => run.attemptId?.startsWith(`${change.id}.`) === true).length ?? 0
    assert(grants <= room, 'no more is granted than there is room for')
    const isApplied = (change === null || world.aggregate.version === change.id) && this.checks.isWhole
    const { retired, waiting } = world.aggregate.header
    if (!isApplied || (retired && Object.values(waiting).some((count) => count > 0))) return
    const { changeId, ...context } = world.context(node, room - grants)
    assert.equal(ledger.attend(world.aggregate, { ...context, changeId }), null, 'nothing is left to do')
  }

  private define(node: Node, number: number, fate: Parameters<World['define']>[4]): void {
    const at = number % this.definitions.length
    const content = this.definitions[at]
    if (content === undefined) return
    this.seen.set(node.name, { hash: `d${at}`, at: this.world.now })
    const carried = new Map<string, number>()
    for (const { hash, at } of this.seen.values()) carried.set(hash, Math.max(at, carried.get(hash) ?? at))
    this.world.define(node, `d${at}`, content, carried, fate)
  }

  private ask(
    node: Node,
    what: Extract<Operation, { number: number }>['what'],
    number: number,
    fate: Parameters<World['ask']>[1],
  ): void {
    const { world } = this
    if (what !== 'resend') this.requests += 1
    const request = { id: `r${this.requests}`, by: 'me', why: null }
    const all = [...world.rows.values()]
    const run = all[number % Math.max(1, all.length)]
    world.ask(node, fate, (job, ctx) => {
      if (what === 'trigger' || what === 'resend') return ledger.trigger(job, { request, data: null }, ctx)
      if (what === 'poke') {
        const change = ledger.poke(job, ctx)
        return change === null ? { outcome: 'unchanged' } : { outcome: 'change', change }
      }
      if (what === 'pause') {
        return ledger.pause(job, { request, until: number % 2 === 0 ? null : world.now + number * 20_000 }, ctx)
      }
      if (what === 'backfill') {
        const to = world.now - (number % 10) * HOUR
        return ledger.backfill(job, { request, from: to - (number % 7) * HOUR, to }, ctx)
      }
      if (what === 'resume') return ledger.resume(job, { request }, ctx)
      if (what === 'retire') return ledger.retire(job, { request }, ctx)
      if (run === undefined) return { outcome: 'unchanged' }
      return what === 'cancel' ? ledger.cancel(job, run, { request }, ctx) : ledger.retryRun(job, run, { request }, ctx)
    })
  }
}

import type { Definition } from '../../ledger/types.js'
import { Random } from '../random.js'
import type { Pace } from './plan.js'
import { SERVICE, type World } from './world.js'

/** How a job is poked: by its terms, from which release on, and by whoever does it so often; null: by nobody. */
export interface PokePlan {
  readonly graceMs: number
  readonly from: number
  readonly everyMs: number | null
}

/** Null: the job is left to the fleet, as most are. */
export function randomPokes(random: Random, pace: Pace): PokePlan | null {
  if (!random.chance(0.3)) return null
  return {
    graceMs: random.pick(pace === 'brief' ? [1_000, 4_000, 20_000] : [1_000, 10_000, 60_000]),
    from: random.pick([0, 0, 0, 1]),
    everyMs: random.pick([null, 1_000, 2_000, 5_000]),
  }
}

/** The job's terms by release, with what the plan says of pokes. */
export function withPokes(releases: readonly (Definition | null)[], plan: PokePlan | null): (Definition | null)[] {
  return releases.map((terms, at) => {
    return plan === null || terms === null || at < plan.from ? terms : { ...terms, pokeGraceMs: plan.graceMs }
  })
}

/** Begins to poke, through any node that lives: early, late, twice, and while the store is away. */
export function startPokers(world: World): void {
  for (const { id, pokes } of world.plan.jobs) {
    if (pokes === null || pokes.everyMs === null) continue
    const random = new Random(`pokes/${world.plan.seed}/${id}`)
    const { everyMs } = pokes
    const tick = () => {
      const nodes = [...world.living.values()].filter(({ process }) => process.state === 'running')
      for (let times = random.chance(0.2) ? 2 : 1; times > 0 && nodes.length > 0; times -= 1) {
        const early = random.pick([0, 500, 3_000])
        world.tally.count('poked')
        random
          .pick(nodes)
          .node.pokes.poke(`${SERVICE}:${id}`, { early })
          .catch(() => world.tally.count('poke refused'))
      }
      world.clock.after(random.int(Math.floor(everyMs / 2), everyMs), tick)
    }
    world.clock.after(everyMs, tick)
  }
}

import type { Random } from '../random.js'
import type { Pace } from './plan.js'

/** What a handler does in one attempt. */
export const MODES = [
  /** Works step by step, leaves by its signal. */
  'works',
  /** Throws an error, at once or after some steps. */
  'throws',
  /** Throws before it returns a promise. */
  'throws-at-once',
  /** Throws what is no error. */
  'throws-oddly',
  /** Never ends by itself, but obeys its signal. */
  'hangs',
  /** Never ends. */
  'hangs-deaf',
  /** Pays no attention to its signal and works to the end. */
  'deaf',
  /** Goes on for some steps after its signal, then throws what the signal says. */
  'outlives',
  /** Returns when its signal fires. */
  'returns-early',
  /** Kills its process. */
  'kills',
] as const

export type Mode = (typeof MODES)[number]

export interface HandlerPlan {
  /** Chances of the modes; those that are absent do not happen. */
  readonly modes: readonly (readonly [Mode, number])[]
  /** Steps of an attempt, and how long each takes, milliseconds: least and most. */
  readonly steps: readonly [number, number]
  readonly stepMs: readonly [number, number]
}

export function randomHandler(random: Random, troubled: boolean, pace: Pace): HandlerPlan {
  const long = random.chance(0.35)
  const steps = !long ? ([1, 3] as const) : pace === 'brief' ? ([3, 8] as const) : ([4, 16] as const)
  const stepMs = long ? ([300, 1_500] as const) : ([10, 400] as const)
  if (!troubled) return { modes: [['works', 1]], steps, stepMs }
  const modes: [Mode, number][] = [['works', random.pick([0.2, 0.5, 0.8])]]
  for (const mode of MODES.slice(1)) if (random.chance(0.3)) modes.push([mode, random.pick([0.1, 0.3])])
  return { modes, steps, stepMs }
}

export interface Attempt {
  readonly mode: Mode
  readonly steps: number
  readonly stepMs: number
}

/** What the next attempt does. */
export function attemptOf(plan: HandlerPlan, random: Random): Attempt {
  const total = plan.modes.reduce((sum, [, weight]) => sum + weight, 0)
  let left = random.unit() * total
  const found = plan.modes.find(([, weight]) => {
    left -= weight
    return left < 0
  })
  const mode = found?.[0] ?? 'works'
  const [steps, stepMs] = [random.int(...plan.steps), random.int(...plan.stepMs)]
  // Who pays no attention to its signal has to be there when it fires.
  return mode === 'deaf' ? { mode, steps: steps + 2, stepMs: stepMs + 700 } : { mode, steps, stepMs }
}

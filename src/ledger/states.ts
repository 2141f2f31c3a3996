import type { RunState } from './types.js'

/**
 * Every step a run can take, by the word for what happened. The draft refuses any other, the docs draw it, and the
 * checkers of the simulation hold observed histories against it. `null` is a row that does not exist yet.
 */
export const TRANSITIONS = [
  { from: null, event: 'queue', to: 'queued' },
  { from: null, event: 'skip', to: 'skipped' },
  { from: null, event: 'miss', to: 'missed' },
  { from: null, event: 'record', to: 'succeeded' },
  { from: null, event: 'record', to: 'failed' },
  { from: 'queued', event: 'absorb', to: 'queued' },
  { from: 'queued', event: 'poke', to: 'queued' },
  { from: 'queued', event: 'grant', to: 'running' },
  { from: 'queued', event: 'cancel', to: 'cancelled' },
  { from: 'queued', event: 'replace', to: 'skipped' },
  { from: 'running', event: 'ask-to-stop', to: 'running' },
  { from: 'running', event: 'succeed', to: 'succeeded' },
  { from: 'running', event: 'fail', to: 'failed' },
  { from: 'running', event: 'stop', to: 'cancelled' },
  { from: 'running', event: 'retry', to: 'queued' },
  { from: 'running', event: 'hand-back', to: 'queued' },
  { from: 'running', event: 'recover', to: 'queued' },
  { from: 'running', event: 'give-up', to: 'failed' },
  { from: 'skipped', event: 'extend', to: 'skipped' },
  { from: 'missed', event: 'extend', to: 'missed' },
] as const satisfies readonly { from: RunState | null; event: string; to: RunState }[]

export type RunEvent = (typeof TRANSITIONS)[number]['event']

/** Every reason a row may give for its state: machine words, explained in docs/ledger.md. */
export const REASONS = {
  skipped: ['overlap', 'queue-full', 'replaced'],
  missed: ['too-old', 'too-many', 'policy', 'paused'],
  failed: ['error', 'uncertain', 'timeout', 'lost', 'handed-back'],
  cancelled: ['cancelled', 'replaced', 'retired'],
} as const satisfies Partial<Record<RunState, readonly string[]>>

export type Reason<State extends keyof typeof REASONS = keyof typeof REASONS> = (typeof REASONS)[State][number]

/** The states in which a run still has something before it. */
export function isLive(state: RunState): boolean {
  return state === 'queued' || state === 'running'
}

/** Whether the table has this step. */
export function isTransition(from: RunState | null, event: RunEvent, to: RunState): boolean {
  return TRANSITIONS.some((row) => row.from === from && row.event === event && row.to === to)
}

/**
 * Whether one atomic write may take a row from one state to another: by a step of the table, or by two that pass through
 * the queue (recovered and granted, or queued and granted, or queued and cancelled because its job retires).
 */
export function isReachable(from: RunState | null, to: RunState): boolean {
  const isStep = TRANSITIONS.some((row) => row.from === from && row.to === to)
  const isThroughQueue = from === null ? to === 'running' || to === 'cancelled' : from === 'running' && to === 'running'
  return isStep || isThroughQueue
}

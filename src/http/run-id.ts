import type { RunRef } from '../fleet/commands.js'

/** A run's id in a path: its job and key, so that every node knows it without asking. */
export function runId({ job, key }: RunRef): string {
  return Buffer.from(JSON.stringify([job, key])).toString('base64url')
}

/** Null: it is none. */
export function runOf(id: string): RunRef | null {
  try {
    const [job, key] = JSON.parse(Buffer.from(id, 'base64url').toString())
    return typeof job === 'string' && typeof key === 'string' ? { job, key } : null
  } catch {
    return null
  }
}

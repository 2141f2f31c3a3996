import type { Definition } from '../ledger/types.js'
import type { NodeJob } from './startup-table.js'

const BOOT: unique symbol = Symbol.for('fleetcron/fleet/boot') as never

/** What a fleet knows of the application around it. */
export interface Boot {
  /** Whether the application still starts, although the fleet may have done so already. */
  goesOn: boolean
  /** What the application runs on every node by itself, for the table that is shown at start. */
  ofEveryNode: readonly NodeJob[]
  /** The one job that this node hosts, by name: a process that a platform starts for it. Null or left out: all of them. */
  only?: string | null
  /** The jobs of the code. */
  readonly declared: () => readonly DeclaredTerms[]
}

/** A job as the code says it. */
export interface DeclaredTerms {
  /** `service:id`. */
  readonly id: string
  readonly name: string
  readonly definition: Definition
  readonly disabled: boolean
}

/** A fleet that tells of its application's start; each copy of the package finds it. */
export interface Booting {
  readonly [BOOT]: Boot
}

export { BOOT }

/** Says whether the application that holds the fleet still starts: so long schedules of earlier releases are not brought back. */
export function setBoot(fleet: object, boot: Partial<Boot>): void {
  Object.assign((fleet as Partial<Booting>)[BOOT] ?? {}, boot)
}

/** The one job that the process is there for; null: whatever the application declares. */
export function onlyJob(fleet: object): string | null {
  return (fleet as Partial<Booting>)[BOOT]?.only ?? null
}

/** What a fleet is called, and the jobs that its code declares; it need not be started. */
export function declaredJobs(fleet: { readonly name: string }): {
  readonly name: string
  readonly jobs: readonly DeclaredTerms[]
} {
  return { name: fleet.name, jobs: (fleet as Partial<Booting>)[BOOT]?.declared() ?? [] }
}

import type { Scale } from '../scale.js'

/** What a measure is given. */
export interface Stage {
  /** Script of a node process. */
  readonly script: string
  /** What fleets are given as their store. */
  readonly url: string
  readonly scale: Scale
  /** A name for a fleet that nobody has used. */
  fleet(): string
}

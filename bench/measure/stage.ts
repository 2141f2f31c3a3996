import type { Scale } from '../scale.js'

/** What a measure is given. */
export interface Stage {
  /** Script of a node process. */
  readonly script: string
  readonly scale: Scale
  /** A fleet of a name that nobody has used, and its store. */
  place(): Promise<{ readonly fleet: string; readonly url: string }>
}

import type { NodeSummary } from '../store/port.js'

/** What no live node has carried for so long gives way: this is when it is worth asking. */
const GONE_MS = 60_000
const JITTER_MS = 5_000

/** Notices that a manifest has not been carried by anybody for a minute: then another definition may have to hold. */
export class ManifestWatch {
  private readonly seen = new Map<string, { at: number; told: boolean }>()
  private readonly afterMs: number

  /** @param luck uniform in [0, 1): nodes do not ask all at once */
  constructor(luck: number) {
    this.afterMs = GONE_MS + 1_000 + luck * JITTER_MS
  }

  /** True once for each manifest, besides the own session's, that has been gone for long enough. */
  saw(nodes: readonly NodeSummary[], ownSession: string, now: number): boolean {
    const listed = new Set<string>()
    for (const { manifestId, session, seenAt } of nodes) {
      if (session === ownSession) continue
      listed.add(manifestId)
      const known = this.seen.get(manifestId)
      if (known === undefined || known.at < seenAt) this.seen.set(manifestId, { at: seenAt, told: false })
    }
    let gone = false
    for (const [manifest, known] of this.seen) {
      if (!known.told && now - known.at >= this.afterMs) {
        known.told = true
        gone = true
      }
      if (known.told && !listed.has(manifest)) this.seen.delete(manifest)
    }
    return gone
  }
}

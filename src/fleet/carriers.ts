import type { NodeRow, NodeSummary } from '../store/port.js'

const NOTHING: ReadonlySet<string> = new Set()

/**
 * Which of this node's jobs other nodes do not carry: during a deploy, or where a job is disabled, the owner of a bucket
 * may not host all of it. Beats list nodes without their manifests, so what a manifest lacks is remembered by its word.
 */
export class Carriers {
  private readonly byManifest = new Map<string, ReadonlySet<string>>()
  /** Learned from rows, until a beat tells the manifest's word. */
  private readonly bySession = new Map<string, ReadonlySet<string>>()

  /** @param jobs what this node carries, by the ledger's ids */
  constructor(private readonly jobs: ReadonlyMap<string, unknown>) {}

  /** Rows with their manifests. */
  learn(rows: readonly NodeRow[]): void {
    for (const { session, hello } of rows) {
      const lacked = [...this.jobs.keys()].filter((job) => !Object.hasOwn(hello.manifest, job))
      this.bySession.set(session, lacked.length === 0 ? NOTHING : new Set(lacked))
    }
  }

  /** This node's own word: whoever has the same carries the same. */
  own(manifestId: string): void {
    this.byManifest.set(manifestId, NOTHING)
  }

  /** What a listed node lacks; null: its manifest has not been seen yet. */
  lackedBy({ session, manifestId }: NodeSummary): ReadonlySet<string> | null {
    const known = this.byManifest.get(manifestId)
    if (known !== undefined) return known
    const learned = this.bySession.get(session)
    if (learned === undefined) return null
    this.bySession.delete(session)
    if (manifestId !== '') this.byManifest.set(manifestId, learned)
    return learned
  }

  /** Forgets what is listed no more. */
  keepOnly(nodes: readonly NodeSummary[]): void {
    const words = new Set(nodes.map(({ manifestId }) => manifestId))
    const sessions = new Set(nodes.map(({ session }) => session))
    for (const word of this.byManifest.keys()) if (!words.has(word)) this.byManifest.delete(word)
    for (const session of this.bySession.keys()) if (!sessions.has(session)) this.bySession.delete(session)
  }
}

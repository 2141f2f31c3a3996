import type { Loaded, NodeRow } from '../store/port.js'
import type { Parts } from './parts.js'

/** After so long they are read again. */
const FRESH_MS = 2_000

/**
 * Nodes with their manifests. A manifest of ten thousand jobs is large: the chunks of one check share what the first of them
 * has read.
 */
export class NodeRows {
  private kept: { readonly rows: readonly NodeRow[]; readonly readAt: number } | null = null

  constructor(private readonly parts: Parts) {}

  get areFresh(): boolean {
    return this.kept !== null && this.parts.facts.clock.monotonic() - this.kept.readAt <= FRESH_MS
  }

  forget(): void {
    this.kept = null
  }

  /** What was loaded, with the nodes that are known where they were not asked for. */
  complete(loaded: Loaded, isAsked: boolean): Loaded {
    if (!isAsked) return { ...loaded, nodes: this.kept?.rows ?? [] }
    const { membership, remarks, facts } = this.parts
    this.kept = { rows: loaded.nodes, readAt: facts.clock.monotonic() }
    membership.learn(loaded.nodes, loaded.now)
    remarks.sawManifests(loaded.nodes, loaded.now)
    return loaded
  }
}

/** Hash -> when a node was last seen that carries it for this job. */
export function carriedBy(job: string, nodes: readonly NodeRow[]): Map<string, number> {
  const seen = new Map<string, number>()
  for (const { hello, seenAt } of nodes) {
    const hash = hello.manifest[job]
    if (hash !== undefined) seen.set(hash, Math.max(seen.get(hash) ?? 0, seenAt))
  }
  return seen
}

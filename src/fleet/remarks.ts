import type { NodeSummary } from '../store/port.js'
import type { Parts } from './parts.js'

/** A host whose clock is this wrong is worth a word, although nothing depends on it. */
const FAR_MS = 5_000

/** Says once what is worth mending: a host's clock far from the store's, zone data that differs between nodes. */
export class Remarks {
  private clockTold = false
  private readonly versionsTold = new Set<string>()

  constructor(private readonly parts: Parts) {}

  saw(nodes: readonly NodeSummary[]): void {
    this.lookAtClock()
    const { zoneData } = this.parts.facts
    for (const node of nodes) {
      if (node.endedAt !== null || node.zoneData === zoneData || this.versionsTold.has(node.zoneData)) continue
      this.versionsTold.add(node.zoneData)
      this.parts.events.emit('zone-data-differs', { mine: zoneData, theirs: node.zoneData, label: node.label })
      this.parts.log.warn(
        `this node has time zone data ${zoneData}, node ${node.label} has ${node.zoneData}: no date is repeated or lost, but jobs in zones whose rules changed may run at other times; bring them to one version`,
      )
    }
  }

  private lookAtClock(): void {
    const byMs = this.parts.link.wallAheadMs()
    if (byMs === null) return
    const isFar = Math.abs(byMs) >= FAR_MS
    if (isFar && !this.clockTold) {
      const where = byMs > 0 ? 'ahead of' : 'behind'
      this.parts.events.emit('clock-differs', { byMs })
      this.parts.log.warn(
        `this host's clock is ${Math.abs(Math.round(byMs / 1_000))} s ${where} the store's: jobs follow the store's, but set it right`,
      )
    }
    this.clockTold = isFar
  }
}

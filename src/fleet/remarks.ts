import type { NodeRow, NodeSummary } from '../store/port.js'
import type { Parts } from './parts.js'

/** A host whose clock is this wrong is worth a word, although nothing depends on it. */
const FAR_MS = 5_000

/** A node that was seen this recently counts as live. */
const LIVE_MS = 25_000

/** So many names are given in full. */
const NAMED = 5

/** Says once what is worth mending: a host's clock far from the store's, zone data that differs between nodes. */
export class Remarks {
  private clockTold = false
  private servicesTold = false
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

  /**
   * Two services that declare the same job are two jobs, and both run. Where this one was named after the folder it was
   * started in, that is probably not meant.
   */
  sawManifests(nodes: readonly NodeRow[], now: number): void {
    const { service, serviceDefaulted, jobs } = this.parts.facts
    if (!serviceDefaulted || this.servicesTold) return
    for (const { hello, seenAt, endedAt } of nodes) {
      if (endedAt !== null || seenAt < now - LIVE_MS || hello.services.includes(service)) continue
      const shared = Object.keys(hello.manifest).flatMap((job) => {
        const id = job.slice(job.indexOf(':') + 1)
        return jobs.has(`${service}:${id}`) ? [id] : []
      })
      if (shared.length === 0) continue
      this.servicesTold = true
      this.parts.log.warn(
        `node ${hello.label} declares ${listed(shared)} too, for service '${hello.services.join()}', and this node for service '${service}', after the package.json of the folder it was started in: these are two jobs each, and both run. If it is one application, name it on every node: service: '${hello.services[0]}'`,
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

function listed(names: readonly string[]): string {
  const more = names.length > NAMED ? ` and ${names.length - NAMED} more` : ''
  return `${names
    .slice(0, NAMED)
    .map((name) => `'${name}'`)
    .join(', ')}${more}`
}

import { manifestId } from '../manifest.js'
import type { NodeHello } from '../port.js'
import type { Arguments } from './server.js'

const BUCKETS = 256

/** Buckets as the statements take them: a bit for each, 1 for a bucket of the node's own. */
export function bucketArguments(buckets: ReadonlySet<number>): Arguments {
  const bits = Buffer.alloc(BUCKETS / 8)
  let mine = 0
  for (let bucket = 0; bucket < BUCKETS; bucket++) {
    if (!buckets.has(bucket)) continue
    mine++
    bits[bucket >> 3] = (bits[bucket >> 3] ?? 0) | (1 << (bucket & 7))
  }
  // No job is looked at where there is no such bucket: the search would pass over every job in vain.
  return { p_mine: `\\x${bits.toString('hex')}`, p_has_mine: mine > 0, p_has_others: mine < BUCKETS }
}

export function helloArgument(hello: NodeHello | undefined): string | null {
  if (!hello) return null
  const { label, services, attends, zoneData, release, manifest } = hello
  return JSON.stringify({ label, services, attends, zoneData, release, manifestId: manifestId(manifest), manifest })
}

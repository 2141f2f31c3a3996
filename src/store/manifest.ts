import { createHash } from 'node:crypto'
import type { NodeHello } from './port.js'

/** A short word for a manifest's content: what a beat hands round instead of the manifest. */
export function manifestId(manifest: NodeHello['manifest']): string {
  return createHash('sha256').update(JSON.stringify(manifest)).digest('base64url').slice(0, 16)
}

import type { MysqlPlace } from './place.js'

export async function scans(_: MysqlPlace): Promise<string[]> {
  return []
}

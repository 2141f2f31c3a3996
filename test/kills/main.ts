import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { BUNDLES, bundleMain } from '../children.js'
import { playRound } from './driver.js'
import { type Place, placeOf, STORES } from './place.js'

const USAGE = `npm run kill:effects -- [options]
  --kills <n>          how many processes are killed, one at each boundary in turn; 1000 by default
  --store <name>       the business database: ${STORES.join(', ')}; a server is found or started; sqlite by default
  --database <url>     an empty business database on a server of yours instead: postgres://…, mysql://…
  --keep <folder>      leaves business.db, provider.db and round.db there: what is counted is counted in them, by SQL.
                       A server's tables are copied into business.db when all processes have ended
  --json               ends with one line of JSON`

export async function main(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      kills: { type: 'string', default: '1000' },
      store: { type: 'string', default: 'sqlite' },
      keep: { type: 'string' },
      database: { type: 'string' },
      json: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  })
  if (values.help) return console.log(USAGE)
  const kills = Number(values.kills)
  if (!Number.isInteger(kills) || kills < 1) throw new Error(`--kills '${values.kills}' is not a whole number above 0`)
  const folder = values.keep === undefined ? mkdtempSync(join(tmpdir(), 'fleetcron-kills-')) : resolve(values.keep)
  mkdirSync(folder, { recursive: true })
  const script = join(BUNDLES, `kills-${process.pid}.mjs`)
  let place: Place | null = null
  try {
    place = await placeOf(values.store, values.database)
    await bundleMain('kills/worker.js', script)
    const result = await playRound({ kills, folder, script, ...(place.url && { database: place.url }) })
    for (const [point, times] of Object.entries(result.points)) console.log(`${String(times).padStart(5)}  ${point}`)
    console.log(
      `${result.kills} kills, ${result.doubleEffects} double effects, ${result.lost} lost, ` +
        `${result.uncertain} uncertain, ${result.uncertainListed} of them listed`,
    )
    if (values.json) console.log(JSON.stringify(result))
    const isRight = result.doubleEffects === 0 && result.lost === 0 && result.uncertain === result.uncertainListed
    process.exitCode = isRight && result.kills === kills ? 0 : 1
  } finally {
    await place?.end()
    rmSync(script, { force: true })
    if (values.keep === undefined) rmSync(folder, { recursive: true, force: true })
  }
}

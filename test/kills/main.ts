import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { BUNDLES, bundleMain } from '../children.js'
import { playRound } from './driver.js'

const USAGE = `npm run kill:effects -- [options]
  --kills <n>          how many processes are killed, one at each boundary in turn; 1000 by default
  --keep <folder>      leaves the business database and the provider's there
  --database <url>     the business database: a Postgres, MySQL or MariaDB server; a SQLite file by default
  --json               ends with one line of JSON`

export async function main(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      kills: { type: 'string', default: '1000' },
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
  try {
    await bundleMain('kills/worker.js', script)
    const result = await playRound({ kills, folder, script, ...(values.database && { database: values.database }) })
    for (const [point, times] of Object.entries(result.points)) console.log(`${String(times).padStart(5)}  ${point}`)
    console.log(
      `${result.kills} kills, ${result.doubleEffects} double effects, ${result.lost} lost, ` +
        `${result.uncertain} uncertain, ${result.uncertainListed} of them listed`,
    )
    if (values.json) console.log(JSON.stringify(result))
    const isRight = result.doubleEffects === 0 && result.lost === 0 && result.uncertain === result.uncertainListed
    process.exitCode = isRight && result.kills === kills ? 0 : 1
  } finally {
    rmSync(script, { force: true })
    if (values.keep === undefined) rmSync(folder, { recursive: true, force: true })
  }
}

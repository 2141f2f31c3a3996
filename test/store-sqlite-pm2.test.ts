import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'vitest'
import { expectOneRunForEach } from './pm2/expectations.js'
import { Pm2, play } from './pm2/play.js'

const MINUTES = 60_000

it(
  'PM2 runs four processes over one SQLite file, reloads them and loses one: one run for each occurrence',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'fleetcron-pm2-ledger-'))
    const pm2 = new Pm2(`sqlite:${join(folder, 'ledger.db')}`)
    try {
      expectOneRunForEach(await play(pm2, 'ecosystem.sqlite.config.cjs'))
    } finally {
      await pm2.end()
      await rm(folder, { recursive: true, force: true })
    }
  },
  5 * MINUTES,
)

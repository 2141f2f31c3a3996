import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { BUNDLES, bundleMain } from './children.js'
import { playRound } from './kills/driver.js'
import { CALL_POINTS, GRADES, ONCE_POINTS } from './kills/points.js'

const script = join(BUNDLES, `kills-${process.pid}.mjs`)
const folder = mkdtempSync(join(tmpdir(), 'fleetcron-kills-'))

beforeAll(() => bundleMain('kills/worker.js', script))
afterAll(() => {
  rmSync(script, { force: true })
  rmSync(folder, { recursive: true, force: true })
})

/** Each boundary once. A thousand: `npm run kill:effects`. */
const POINTS = ONCE_POINTS.length + GRADES.length * CALL_POINTS.length

test('a process killed at any boundary of an effect leaves none double and none lost', async () => {
  const result = await playRound({ kills: POINTS, folder, script })
  expect(Object.keys(result.points)).toHaveLength(POINTS)
  // Where the provider has neither keys nor a look-up, a kill between intent and answer leaves it to a person.
  expect(result).toMatchObject({ kills: POINTS, doubleEffects: 0, lost: 0, uncertain: 4, uncertainListed: 4 })
})

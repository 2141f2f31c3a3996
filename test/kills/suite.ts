import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BUNDLES, bundleMain } from '../children.js'
import { playRound } from './driver.js'
import type { Place } from './place.js'
import { BOUNDARIES } from './points.js'

/** Each boundary once, on one kind of business database. A thousand: `npm run kill:effects`. */
export function killsOf(name: string, makePlace: () => Promise<Place>): void {
  describe(`a process killed at any boundary of an effect on ${name}`, () => {
    const script = join(BUNDLES, `kills-${process.pid}-${name}.mjs`)
    const folder = mkdtempSync(join(tmpdir(), 'fleetcron-kills-'))
    let place: Place

    beforeAll(async () => {
      place = await makePlace()
      await bundleMain('kills/worker.js', script)
    })
    afterAll(async () => {
      await place.end()
      rmSync(script, { force: true })
      rmSync(folder, { recursive: true, force: true })
    })

    it('leaves none double and none lost, and lists what is uncertain', async () => {
      const database = place.url === null ? {} : { database: place.url }
      const result = await playRound({ kills: BOUNDARIES, folder, script, ...database })
      expect(result).toMatchObject({ kills: BOUNDARIES, doubleEffects: 0, lost: 0, uncertainListed: result.uncertain })
      // A busy machine may leave out one or two, in whose stead others die twice.
      expect(Object.keys(result.points).length).toBeGreaterThanOrEqual(BOUNDARIES - 2)
      // Where the provider has neither keys nor a look-up, a kill between intent and answer leaves it to a person.
      expect(result.uncertain).toBeGreaterThanOrEqual(4)
    })
  })
}

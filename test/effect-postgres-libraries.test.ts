import { beforeAll, describe, test } from 'vitest'
import { effectConformance } from '../src/testing/effect/index.js'
import { byHand, effectsThrough, ON_POSTGRES } from './effect/libraries.js'
import { PostgresBusiness } from './effect/postgres-business.js'
import { sharedServer } from './servers/index.js'

let url: string
beforeAll(async () => {
  url = (await sharedServer('postgres')).url
})

for (const [name, connect] of Object.entries({ ...ON_POSTGRES, custom: byHand })) {
  effectConformance({ describe, test }, `${name} on Postgres`, async () =>
    effectsThrough(await PostgresBusiness.make(url), connect),
  )
}

import { beforeAll, describe, test } from 'vitest'
import { effectConformance } from '../src/testing/effect/index.js'
import { effectsThrough, ON_MARIADB } from './effect/libraries.js'
import { MariadbBusiness } from './effect/mariadb-business.js'
import { sharedServer } from './servers/index.js'

let url: string
beforeAll(async () => {
  url = (await sharedServer('mariadb')).url
})

for (const [name, connect] of Object.entries(ON_MARIADB)) {
  effectConformance({ describe, test }, `${name} on MariaDB`, async () =>
    effectsThrough(await MariadbBusiness.make(url), connect),
  )
}

import { beforeAll, describe, expect, test } from 'vitest'
import { createEffects } from '../src/effect/effects.js'
import { effectConformance } from '../src/testing/effect/index.js'
import { byHand, effectsThrough, ON_POSTGRES, WRITES } from './effect/libraries.js'
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

/** Those that answer a statement with what JSON cannot carry. */
const UNKEEPABLE = ['custom', 'drizzle', 'knex', 'kysely']

test.each(Object.entries({ ...ON_POSTGRES, custom: byHand }))(
  'a statement of %s counts in braces, and its answer may be no result',
  async (name, connect) => {
    const business = await PostgresBusiness.make(url)
    await business.rows('CREATE TABLE note (text VARCHAR(200))')
    const { adapter, end } = await connect(business, 2)
    const effects = createEffects(adapter)
    await effects.ensure()
    const write = (tx: unknown, text: string) => WRITES[name]?.(tx, text)
    const made = await effects.once('braces', async (tx) => {
      await write(tx, 'braces')
    })
    const bare = await effects.once('bare', (tx) => write(tx, 'bare')).catch((error: unknown) => error)
    const written = (await business.rows('SELECT text FROM note ORDER BY text')).map(({ text }) => text)
    await end()
    await business.close()
    expect(made).toBeUndefined()
    if (!UNKEEPABLE.includes(name)) return expect(written).toEqual(['bare', 'braces'])
    const message = expect.stringMatching(/into braces, await each.*return nothing, or plain data/)
    expect(bare).toMatchObject({ code: 'EFFECT_INVALID', message })
    expect(written).toEqual(['braces'])
  },
)

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sharedServer } from '../servers/index.js'
import { storesUnderTest } from '../servers/stores.js'
import { Project } from './project.js'

const MINUTES = 60_000

/** Each library is held to the suite on these databases. */
const DATABASES = (['postgres', 'mariadb'] as const).filter((name) => storesUnderTest().includes(name))

/** The suite has more tests than this. */
const AT_LEAST = 60

async function urlOf(database: (typeof DATABASES)[number]): Promise<NodeJS.ProcessEnv> {
  const { url } = await sharedServer(database)
  return { [`${database.toUpperCase()}_URL`]: url }
}

it.each(['prisma', 'mikro-orm'])('the lock file of %s names no host that it was installed from', (name) => {
  const lock = readFileSync(join(import.meta.dirname, '../fixtures', name, 'package-lock.json'), 'utf8')
  expect(lock).toContain('"integrity"')
  expect(lock).not.toContain('"resolved": "http')
})

if (DATABASES.length > 0) {
  describe('effects through Prisma', () => {
    const project = new Project('prisma')
    /** Named, it is not downloaded: nothing here needs it. */
    const offline = { PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: '1' }
    const generate = async () => {
      for (const provider of ['postgresql', 'mysql']) {
        const words = ['node_modules/prisma/build/index.js', 'generate', '--schema', `${provider}.prisma`]
        await project.run(process.execPath, words, offline)
      }
    }
    beforeAll(() => project.prepare(generate), 10 * MINUTES)
    afterAll(() => project.remove(), 5 * MINUTES)

    it.each(DATABASES)(
      'hold what every adapter has to hold, on %s',
      async (database) => {
        const { passed, failed } = await project.suite(await urlOf(database))
        expect(failed).toBe(0)
        expect(passed).toBeGreaterThan(AT_LEAST)
      },
      10 * MINUTES,
    )
  })

  describe('effects through MikroORM', () => {
    const project = new Project('mikro-orm')
    beforeAll(() => project.prepare(), 10 * MINUTES)
    afterAll(() => project.remove(), 5 * MINUTES)

    it.each(DATABASES)(
      'hold what every adapter has to hold, on %s and a Node that MikroORM runs on',
      async (database) => {
        const { passed, failed } = await project.suite(await urlOf(database), node22(project.folder))
        expect(failed).toBe(0)
        expect(passed).toBeGreaterThan(AT_LEAST)
      },
      10 * MINUTES,
    )
  })
}

/** MikroORM 7 needs Node 22.17: this one, or that which the project has brought along. */
function node22(folder: string): string {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major > 22 || (major === 22 && minor >= 17)) return process.execPath
  const brought = join(folder, `node_modules/node-${process.platform}-${process.arch}/bin/node`)
  if (existsSync(brought)) return brought
  throw new Error(`MikroORM 7 needs Node 22.17 or newer, and there is none for ${process.platform}-${process.arch}.`)
}

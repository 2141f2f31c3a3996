import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { MySqlDialect } from 'drizzle-orm/mysql-core'
import { PgDialect } from 'drizzle-orm/pg-core'
import { CompiledQuery } from 'kysely'
import { describe, expect, test } from 'vitest'
import { libraryAdapter } from '../src/effect/custom/index.js'
import { drizzleAdapter } from '../src/effect/drizzle/index.js'
import { knexAdapter } from '../src/effect/knex/index.js'
import { kyselyAdapter } from '../src/effect/kysely/index.js'
import { mikroOrmAdapter } from '../src/effect/mikro-orm/index.js'
import { mysql2Adapter } from '../src/effect/mysql2/index.js'
import { pgAdapter } from '../src/effect/pg/index.js'
import type { AsyncAdapter } from '../src/effect/port.js'
import { prismaAdapter } from '../src/effect/prisma/index.js'
import { sequelizeAdapter } from '../src/effect/sequelize/index.js'
import { typeormAdapter } from '../src/effect/typeorm/index.js'
import { ON_MARIADB, ON_POSTGRES } from './effect/libraries.js'

const root = join(import.meta.dirname, '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const [, section = ''] = read('docs/effects-adapters.md').split('\n| library | import |')

/** The first table of the page: what it says of each adapter, by the name of its folder. */
const ROWS = new Map(
  (section.split('\n\n')[0] ?? '')
    .split('\n')
    .slice(2)
    .map((line) => {
      const [, , path = '', tested = '', on = '', placeholders = '', options = ''] = line
        .split('|')
        .map((cell) => cell.trim())
      const quoted = (cell: string) => [...cell.matchAll(/`(\S+?)`/g)].map(([, word = '']) => word)
      const name = path.replaceAll('`', '').replace('fleetcron/effect/', '')
      return [name, { tested, on: on.split(', '), placeholders: quoted(placeholders), options: quoted(options) }]
    }),
)
const NAMES = [...ROWS.keys()]

test('the table has a row for each adapter that the package exports', () => {
  const { exports, typesVersions } = JSON.parse(read('package.json'))
  const exported = Object.keys(exports).flatMap((path) => (path.startsWith('./effect/') ? [path.slice(9)] : []))
  expect(NAMES.toSorted()).toEqual(exported.toSorted())
  const typed = Object.keys(typesVersions['*']).filter((path) => path.startsWith('effect/'))
  expect(typed.map((path) => path.slice(7)).sort()).toEqual(exported.sort())
})

test.each(NAMES)('the version that %s is tested with is that of its lock file', (name) => {
  const [, library = '', version = ''] = /^(\S+) (\S+)$/.exec(ROWS.get(name)?.tested ?? '') ?? []
  const own = `test/fixtures/${name}/package-lock.json`
  const { packages } = JSON.parse(read(existsSync(join(root, own)) ? own : 'package-lock.json'))
  expect(packages[`node_modules/${library}`].version).toMatch(new RegExp(`^${version.replace('.', '\\.')}\\.\\d`))
})

test.each(NAMES)('the databases that %s is tested on are those of its suite', (name) => {
  const businesses = `test/fixtures/${name}/src/businesses.ts`
  const isFixture = existsSync(join(root, businesses))
  const inTests = isFixture
    ? read(businesses)
    : read('test/effect-postgres.test.ts') + read('test/effect-mariadb.test.ts')
  const expected = [
    ...(name === 'sqlite' ? ['SQLite'] : []),
    ...(name in ON_POSTGRES || name === 'custom' ? ['Postgres'] : []),
    ...(name in ON_MARIADB ? ['MariaDB'] : []),
    ...(isFixture ? [...inTests.matchAll(/&& \{ (\w+): \(\) =>/g)].map(([, database = '']) => database) : []),
    ...(['pg', 'mysql2'].includes(name) && inTests.includes(`\`${name}, \${isolationLevel}\``)
      ? [name === 'pg' ? 'Postgres' : 'MariaDB']
      : []),
  ]
  expect(ROWS.get(name)?.on).toEqual(expected)
})

test.each(NAMES)('the options of its own that %s has are those of the source', (name) => {
  const source = read(`src/effect/${name}/index.ts`)
  const [, type = ''] = /export type \w+EffectOptions\b(.*?)\n\n/s.exec(source) ?? []
  const own = [...type.matchAll(/^ {4}readonly (\w+)/gm)].map(([, option = '']) => option)
  expect(ROWS.get(name)?.options.toSorted()).toEqual(own.sort())
})

describe('the placeholders', () => {
  const TEXT = {
    postgres: 'UPDATE note SET text = $1 WHERE text = $2',
    mysql: 'UPDATE note SET text = ? WHERE text = ?',
  }
  type Dialect = keyof typeof TEXT

  /** Each adapter over something that keeps the text it is handed. */
  const ADAPTERS: Record<string, (dialect: Dialect, keep: (text: string) => void) => [AsyncAdapter<never>, unknown]> = {
    pg: (_, keep) => [pgAdapter({ connect: never }) as never, { query: kept(keep, { rows: [], rowCount: 0 }) }],
    mysql2: (_, keep) => [mysql2Adapter({ getConnection: never }) as never, { query: kept(keep, [{}]) }],
    typeorm: (dialect, keep) => [
      typeormAdapter({ options: { type: dialect }, transaction: never }) as never,
      { queryRunner: { query: kept(keep, {}) } },
    ],
    drizzle: (dialect, keep) => {
      const compiler = dialect === 'postgres' ? new PgDialect() : new MySqlDialect()
      const execute = async (query: never) => {
        keep(compiler.sqlToQuery(query).sql)
        return { rows: [] }
      }
      return [drizzleAdapter({ transaction: never } as never, sql, dialect) as never, { execute }]
    },
    prisma: (dialect, keep) => [
      prismaAdapter({ $transaction: never }, dialect) as never,
      { $executeRawUnsafe: kept(keep, 0) },
    ],
    knex: (dialect, keep) => {
      const client = { config: { client: dialect === 'postgres' ? 'pg' : 'mysql2' } }
      return [knexAdapter({ transaction: never, client }) as never, { raw: kept(keep, { rows: [] }) }]
    },
    kysely: (dialect, keep) => {
      const executeQuery = async (query: { sql: string }) => {
        keep(query.sql)
        return { rows: [] }
      }
      return [kyselyAdapter({ transaction: never } as never, CompiledQuery, dialect) as never, { executeQuery }]
    },
    'mikro-orm': (dialect, keep) => [
      mikroOrmAdapter({ fork: never } as never, dialect) as never,
      { getConnection: () => ({ execute: kept(keep, {}) }), getTransactionContext: () => null },
    ],
    sequelize: (dialect, keep) => [
      sequelizeAdapter({ getDialect: () => dialect, query: kept(keep, [[], 0]), transaction: never }) as never,
      {},
    ],
    custom: (dialect, keep) => [
      libraryAdapter({ dialect, transaction: never, query: kept(keep, { rows: [], affected: 0 }) }) as never,
      {},
    ],
  }

  test.each(NAMES.filter((name) => name !== 'sqlite'))('of %s are those that it hands its library', async (name) => {
    const { on = [], placeholders } = ROWS.get(name) ?? {}
    const seen: string[] = []
    for (const database of on) {
      const dialect = database === 'Postgres' ? 'postgres' : 'mysql'
      const texts: string[] = []
      const [adapter, tx] = ADAPTERS[name]?.(dialect, (text) => texts.push(text)) ?? []
      await adapter?.query(tx as never, TEXT[dialect], ['a', 'b'])
      expect(texts).toHaveLength(1)
      const [first = '', second = ''] = texts[0]?.match(/\$\d|\?/g) ?? []
      expect(second).toBe(first === '?' ? '?' : '$2')
      seen.push(first)
    }
    expect(placeholders).toEqual(seen)
  })
})

function never(): never {
  throw new Error('called')
}

function kept<R>(keep: (text: string) => void, answer: R) {
  return async (...words: readonly unknown[]) => {
    keep(String(words.find((word) => typeof word === 'string')))
    return answer
  }
}

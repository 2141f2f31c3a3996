import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { purityViolations, shippedViolations, sizeViolations, testViolations } from './architecture/hygiene.js'
import { importViolations, layerOf, tableViolations } from './architecture/imports.js'
import { parse, type SourceFile } from './architecture/source.js'

const root = join(import.meta.dirname, '..')

/** Test files that may name a timer or leave a test out, each with its reason. */
const WAITS_FOR_A_REASON: Readonly<Record<string, string>> = {
  'test/nest/public-suite/services.ts': 'an application that adds timers of its own; the time is fake',
  'test/nest/public-suite/doors.ts': 'a clock made of the fake timers that its test turns',
}

/** Files that do something when they are imported: the command line's entry, and nothing else. */
const ACTS_AT_IMPORT = ['src/cli/main.ts']

const PACKAGES = runtimePackages()

describe('the architecture', () => {
  const sources = filesUnder('src')
  const tests = filesUnder('test')

  it('is read from the real files', () => {
    expect(sources.map((file) => file.path)).toEqual(expect.arrayContaining(['src/errors.ts', 'src/schedule/types.ts']))
    expect(tests.map((file) => file.path)).toContain('test/architecture.test.ts')
  })

  it('has an import table in which no row lets a door or the test kit in', () => {
    expect(tableViolations()).toEqual([])
  })

  it.each(sources.map((file) => [file.path, file] as const))('holds in %s', (_, file) => {
    expect(violations(file)).toEqual([])
  })

  it.each(tests.map((file) => [file.path, file] as const))('holds in %s', (_, file) => {
    expect(violations(file)).toEqual([])
  })

  it.each([...filesUnder('scripts'), ...filesUnder('bench')].map((file) => [file.path, file] as const))(
    'holds in %s',
    (_, file) => {
      expect(sizeViolations(parse(file))).toEqual([])
    },
  )
})

describe('the rules can fail', () => {
  it.each([
    ['src/schedule/a.ts', `import { b } from '../ledger/b.js'`, 'schedule must not import ledger'],
    ['src/ledger/a.ts', `import type { Store } from '../store/port.js'`, 'ledger must not import store/port'],
    ['src/ledger/a.ts', `export { b } from '../fleet/b.js'`, 'ledger must not import fleet'],
    ['src/ledger/a.ts', `type F = import('../fleet/b.js').F`, 'ledger must not import fleet'],
    ['src/store/port.ts', `import { b } from '../ledger/b.js'`, 'store/port may import only types of ledger'],
    ['src/store/port.ts', `import type { b } from './sqlite/b.js'`, 'store/port must not import store/sqlite'],
    ['src/store/sqlite/a.ts', `import { b } from '../memory/b.js'`, 'store/sqlite must not import store/memory'],
    ['src/store/sqlite/a.ts', `import { b } from '../resolve.js'`, 'store/sqlite must not import store/resolve'],
    ['src/effect/a.ts', `import { type A, b } from '../ledger/b.js'`, 'effect may import only types of ledger'],
    [
      'src/effect/sqlite/a.ts',
      `import { b } from '../../store/sqlite/b.js'`,
      'effect/sqlite must not import store/sqlite',
    ],
    ['src/fleet/a.ts', `import { b } from '../store/memory/index.js'`, 'fleet must not import store/memory'],
    ['src/fleet/a.ts', `import { b } from '../effect/port.js'`, 'fleet may import only types of effect/port'],
    ['src/index.ts', `export { b } from './testing/index.js'`, 'index must not import testing'],
    ['src/index.ts', `export { b } from './nest/index.js'`, 'index must not import nest'],
    ['src/nest/a.ts', `import { b } from '../cli/b.js'`, 'nest must not import cli'],
    ['src/nest/a.ts', `import { b } from '../store/sqlite/b.js'`, 'nest must not import store/sqlite'],
    ['src/cli/main.ts', `await import('../testing/b.js')`, 'cli must not import testing'],
    ['src/fleet/a.ts', `import { b } from '../../test/b.js'`, 'outside src'],
    ['src/helpers/a.ts', '', 'no row for helpers'],
    ['src/store/resolve.ts', `await import('better-sqlite3')`, 'store/resolve must not name better-sqlite3'],
    ['src/fleet/a.ts', `await import('better-sqlite3')`, 'imports better-sqlite3 dynamically'],
    ['src/fleet/a.ts', `const f = (m: string) => import(m)`, 'imports <computed> dynamically'],
    ['src/fleet/a.ts', `import { createRequire } from 'node:module'`, 'createRequire'],
    ['src/fleet/a.ts', `import { b } from 'lodash/get'`, 'lodash, which is neither'],
    ['src/fleet/a.ts', `import type { E } from 'fast-check'`, 'fast-check, which is neither'],
    ['src/store/port.ts', `import type D from 'better-sqlite3'`, 'store/port must not name better-sqlite3'],
    ['src/fleet/a.ts', `import { readFileSync } from 'fs'`, 'fs without node:'],
    ['src/fleet/a.ts', `export * from './b.js'`, 'export *'],
    ['src/fleet/a.ts', `export * as b from './b.js'`, 'export *'],
    ['src/fleet/a.ts', 'export default 1', 'default export'],
    ['src/fleet/a.ts', 'register()', 'does something when it is imported'],
    ['src/fleet/a.ts', `import './b.js'`, 'does something when it is imported'],
    ['src/fleet/a.ts', 'if (x) start()', 'does something when it is imported'],
    ['src/fleet/a.ts', `export function f() {${'\n'.repeat(70)}}`, 'a function of 71 lines'],
    ['src/fleet/a.ts', '\n'.repeat(301), '301 lines'],
    ['test/a.test.ts', '\n'.repeat(301), '301 lines'],
    ['src/schedule/a.ts', 'const now = () => Date.now()', 'Date.now'],
    ['src/schedule/a.ts', 'const now = () => new Date()', 'Date without an argument'],
    ['src/schedule/a.ts', 'const now = () => new Date', 'Date without an argument'],
    ['src/schedule/a.ts', 'const now = () => Date()', 'Date without an argument'],
    ['src/ledger/a.ts', 'const r = () => Math.random()', 'Math.random'],
    ['src/ledger/a.ts', 'const e = process.env', 'process'],
    ['src/ledger/a.ts', 'const e = { process }', 'process'],
    ['src/ledger/a.ts', 'const f = () => setTimeout(f, 1)', 'setTimeout'],
    ['src/ledger/a.ts', `import { createHash } from 'node:crypto'`, 'imports node:crypto'],
    ['src/ledger/a.test.ts', `it.${'only'}('x', () => {})`, 'it.only'],
    ['test/a.test.ts', `describe.${'skip'}('x', () => {})`, 'describe.skip'],
    ['test/a.test.ts', `it.each([1]).${'todo'}('x')`, 'it.todo'],
    ['test/a.test.ts', `test.concurrent.${'skip'}('x', () => {})`, 'test.skip'],
    ['test/a.test.ts', 'await new Promise((r) => setTimeout(r, 5))', 'setTimeout'],
    ['test/fixture.ts', 'await new Promise((r) => globalThis.setTimeout(r, 5))', 'setTimeout'],
    ['test/a.test.ts', `import { setTimeout as later } from 'node:timers/promises'`, 'timers/promises'],
    ['test/a.test.ts', 'await sleep(5)', 'sleep'],
    ['test/a.test.ts', 'Atomics.wait(a, 0, 0, 5)', 'Atomics.wait'],
  ])('%s: %s', (path, text, expected) => {
    expect(violations({ path, text }).join('\n')).toContain(expected)
  })

  it.each([
    ['src/schedule/a.ts', `import type { X } from 'node:util'\nexport const at = (ms: number) => new Date(ms)`],
    ['src/ledger/a.ts', `export const f = (run: { process: string }) => run.process`],
    ['src/ledger/a.ts', `import { Cron } from '../schedule/b.js'\nexport const o = { performance: 1 }`],
    ['src/ledger/a.test.ts', `import { clock } from '../testing/clock.js'\nconst now = Date.now()`],
    ['src/store/port.ts', `import type { Job } from '../ledger/types.js'`],
    ['src/store/sqlite/a.ts', `import D from 'better-sqlite3'\nimport { readFileSync } from 'node:fs'`],
    ['src/store/resolve.ts', `export const f = () => import('pg')`],
    ['src/sqlite-driver.ts', `export const f = () => import('better-sqlite3')`],
    ['src/testing/a.ts', `import { b } from '../store/memory/index.js'`],
    ['src/cli/main.ts', `import { b } from '../store/sqlite/index.js'\nb()`],
    ['src/nest/a.ts', `import { Module } from '@nestjs/common'\nexport class A {}`],
    ['test/a.test.ts', `clock.setTimeout(5)\nconst retry = { delay: 5, catchUp: 'skip' }`],
  ])('%s is right: %s', (path, text) => {
    expect(violations({ path, text })).toEqual([])
  })

  it('refuses a file that does not parse', () => {
    expect(() => violations({ path: 'src/fleet/a.ts', text: 'const = 1' })).toThrow('does not parse')
  })
})

/** Everything that is wrong with a file, by the rules for where it lies. */
function violations(source: SourceFile): string[] {
  const file = parse(source)
  const isTest = file.path.endsWith('.test.ts') || file.path.startsWith('test/')
  if (isTest) return [...sizeViolations(file), ...(file.path in WAITS_FOR_A_REASON ? [] : testViolations(file))]
  const isPure = ['schedule', 'ledger'].includes(layerOf(file.path))
  return [
    ...sizeViolations(file),
    ...importViolations(file, PACKAGES),
    ...shippedViolations(file, ACTS_AT_IMPORT.includes(file.path)),
    ...(isPure ? purityViolations(file) : []),
  ]
}

function filesUnder(folder: string): SourceFile[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(ts|mts|mjs|js)$/.test(name))
    .map((name) => `${folder}/${name.replaceAll('\\', '/')}`)
    .sort()
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
}

function runtimePackages(): ReadonlySet<string> {
  const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return new Set([...Object.keys(dependencies), ...Object.keys(peerDependencies)])
}

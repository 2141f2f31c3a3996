import { execFileSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '..')
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const entries = Object.entries<Record<'import' | 'require', { types: string; default: string }>>(manifest.exports)
  .filter(([name]) => name !== './package.json')
  .map(([name, formats]) => ({ name: name.replace('.', 'fleetcron'), formats }))

/** Entries that need no optional peer: they load in an installation that has none. */
const WITHOUT_PEERS = [
  'fleetcron',
  'fleetcron/testing',
  'fleetcron/memory',
  'fleetcron/postgres',
  'fleetcron/mysql',
  'fleetcron/redis',
  'fleetcron/http',
]

describe('the package as it is installed', () => {
  let app = ''

  beforeAll(() => {
    app = mkdtempSync(join(tmpdir(), 'fleetcron-package-'))
    install(app)
  })

  afterAll(() => rmSync(app, { recursive: true, force: true }))

  it.each(entries)('has the files of $name, for import and for require', ({ formats }) => {
    const files = [formats.import, formats.require].flatMap(({ types, default: main }) => [types, main])
    expect(files).toHaveLength(4)
    expect(files.filter((path) => !existsSync(join(root, path)))).toEqual([])
  })

  it('has every file in both formats, but for the command', () => {
    const all = readdirSync(join(root, 'dist'), { recursive: true, encoding: 'utf8' })
    const files = all.filter((path) => /\.(js|d\.ts)$/.test(path) && !path.startsWith('cli/'))
    const required = files.filter((path) => path.startsWith('cjs/')).map((path) => path.slice('cjs/'.length))
    expect(required.sort()).toEqual(files.filter((path) => !path.startsWith('cjs/')).sort())
  })

  it.each(entries)('exports the same from $name in both formats', ({ name }) => {
    const code = `
      import { createRequire } from 'node:module'
      const names = (of) => Object.keys(of).filter((name) => !['default', 'module.exports'].includes(name)).sort().join()
      const required = createRequire(import.meta.url)('${name}')
      console.log(names(required) !== '' && names(required) === names(await import('${name}')))`
    expect(node(root, code)).toBe('true\n')
  })

  it('agrees with itself where both formats are loaded', () => {
    const code = `
      import { createRequire } from 'node:module'
      const required = createRequire(import.meta.url)('fleetcron')
      const { createTestFleet, runJob } = createRequire(import.meta.url)('fleetcron/testing')
      const imported = await import('fleetcron')
      const fleet = createTestFleet()
      fleet.job('which', {}, () => [imported.currentRun().job, required.currentRun().job])
      await fleet.start()
      const { result } = await runJob(fleet, 'which')
      await fleet.stop()
      const error = await fleet.trigger('which').catch((thrown) => thrown)
      const retry = new imported.RetryTransaction('one', new Error('busy'))
      console.log(result, error instanceof imported.FleetcronError, error instanceof required.FleetcronError)
      console.log(retry instanceof required.RetryTransaction, retry instanceof required.StaleTokenError)
      console.log({} instanceof required.FleetcronError, error instanceof imported.RetryTransaction)`
    expect(node(root, code)).toBe('["which","which"] true true\ntrue false\nfalse false\n')
  })

  it('agrees with itself where both formats are loaded by one NestJS application', () => {
    const code = `
      import 'reflect-metadata'
      import { createRequire } from 'node:module'
      import { Module } from '@nestjs/common'
      import { NestFactory } from '@nestjs/core'
      import * as imported from 'fleetcron/nest'
      const required = createRequire(import.meta.url)('fleetcron/nest')
      class Work { run(run) { return run.job } }
      for (const [name, { Cron }] of Object.entries({ imported, required })) {
        Cron('0 0 29 2 *', { name })(Work.prototype, 'run', Object.getOwnPropertyDescriptor(Work.prototype, 'run'))
      }
      const start = (...copies) => {
        class App {}
        const options = { fleet: 'b', store: 'memory:', logger: false, startup: 'fail' }
        Module({ imports: copies.map(({ FleetModule }) => FleetModule.forRoot(options)), providers: [Work] })(App)
        return NestFactory.createApplicationContext(App, { logger: false, abortOnError: false })
      }
      const app = await start(required)
      const fleet = app.get(Symbol.for('fleetcron/nest/fleet'))
      const { result } = await fleet.finished(await fleet.trigger('imported'))
      console.log((await fleet.jobs()).map(({ name }) => name).join(), result)
      await app.close()
      console.log((await start(imported, required).catch((error) => error)).message)`
    expect(node(root, code)).toMatch(/^imported,required "imported"\nFleetModule\.forRoot\(\) is imported twice/)
  })

  it('ships no test', () => {
    const shipped = readdirSync(join(root, 'dist'), { recursive: true, encoding: 'utf8' })
    expect(shipped.length).toBeGreaterThan(10)
    expect(shipped.filter((path) => /\.test\.|vitest/.test(path))).toEqual([])
  })

  it.each(entries)(
    'does nothing when $name is imported: no output, no handle that keeps the process alive',
    ({ name }) => {
      expect(node(root, `await import('${name}')`)).toBe('')
    },
  )

  it.each(WITHOUT_PEERS)('loads %s where no driver and no NestJS is installed', (name) => {
    expect(node(app, `console.log(typeof await import('${name}'))`)).toBe('object\n')
  })

  it('has a command that runs where no driver is installed', () => {
    const args = [
      'next',
      '0 0 * * *',
      '--time-zone',
      'Europe/Helsinki',
      '--from',
      '2026-11-28T12:00:00Z',
      '--count',
      '1',
      '--json',
    ]
    const main = join(app, 'node_modules/fleetcron', manifest.bin.fleetcron)
    expect(JSON.parse(execFileSync(process.execPath, [main, ...args], { cwd: app, encoding: 'utf8' }))).toEqual([
      '2026-11-28T22:00:00.000Z',
    ])
  })

  it('can be bundled where no driver is installed', async () => {
    const result = await build({
      stdin: { contents: `import { createFleet } from 'fleetcron'; console.log(typeof createFleet)`, resolveDir: app },
      bundle: true,
      platform: 'node',
      format: 'esm',
      logLevel: 'silent',
      outfile: join(app, 'bundle.mjs'),
    })
    expect(result.errors).toEqual([])
    expect(execFileSync(process.execPath, [join(app, 'bundle.mjs')], { cwd: app, encoding: 'utf8' })).toBe('function\n')
  })
})

/** A folder with the package and its dependencies, but none of its optional peers. */
function install(app: string): void {
  const target = join(app, 'node_modules/fleetcron')
  mkdirSync(target, { recursive: true })
  for (const path of ['package.json', 'dist']) cpSync(join(root, path), join(target, path), { recursive: true })
  for (const name of Object.keys(manifest.dependencies)) {
    const link = join(app, 'node_modules', name)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(join(root, 'node_modules', name), link, 'junction')
  }
  writeFileSync(join(app, 'package.json'), '{ "type": "module" }')
}

function node(cwd: string, code: string): string {
  return execFileSync(process.execPath, ['--input-type=module', '--eval', code], {
    cwd,
    encoding: 'utf8',
    timeout: 30_000,
  })
}

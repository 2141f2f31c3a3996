import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '..')
const run = promisify(execFile)
const MINUTES = 60_000

/** What NestJS asks for only where an application uses it; bundlers leave it out. */
const OPTIONAL = ['@nestjs/microservices', '@nestjs/websockets', 'class-transformer', 'class-validator']

describe('the standard project of NestJS 11, in CommonJS', () => {
  let app = ''

  beforeAll(async () => {
    app = mkdtempSync(join(tmpdir(), 'fleetcron-nest11-'))
    cpSync(join(import.meta.dirname, 'fixtures/nest11'), app, { recursive: true })
    const quiet = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts']
    const pack = ['pack', '--json', '--ignore-scripts', '--pack-destination', app]
    const [{ filename }] = JSON.parse((await run('npm', pack, { cwd: root })).stdout)
    await run('npm', ['ci', ...quiet], { cwd: app })
    await run('npm', ['install', '--no-save', ...quiet, join(app, filename)], { cwd: app })
    await tsc('-p', 'tsconfig.build.json')
  }, 8 * MINUTES)

  afterAll(() => rmSync(app, { recursive: true, force: true }))

  function tsc(...args: string[]) {
    return run(process.execPath, ['node_modules/typescript/bin/tsc', ...args], { cwd: app }).catch((error) => {
      throw new Error(error.stdout)
    })
  }

  /** Starts the application, waits until a job has run, ends it as a deploy does, and gives what it said. */
  async function boot(script: string, ledger: string): Promise<string> {
    const env = { ...process.env, LEDGER: ledger, PORT: '0', NO_COLOR: '1' }
    const child = spawn(process.execPath, [script], { cwd: app, env })
    let output = ''
    const hasRun = new Promise<void>((resolve, reject) => {
      for (const stream of [child.stdout, child.stderr]) {
        stream.setEncoding('utf8').on('data', (text: string) => {
          output += text
          if (/job=\S+:heartbeat .*outcome=succeeded/.test(output)) resolve()
        })
      }
      child.on('exit', () => reject(new Error(output)))
    })
    await hasRun
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    await ended
    return output
  }

  it(
    'boots, runs its jobs, and drains them when it is ended',
    async () => {
      const output = await boot('dist/main.js', 'memory:')
      expect(output).toContain('[AppService] beat 1')
      expect(output).toContain('FleetModule dependencies initialized')
      expect(output).toMatch(/\[Fleetcron\] stopped/)
    },
    MINUTES,
  )

  it(
    'compiles with the resolution of newer projects, too',
    () => tsc('--noEmit', '--incremental', 'false', '--module', 'nodenext', '--moduleResolution', 'nodenext'),
    2 * MINUTES,
  )

  it(
    'passes its Jest tests without any configuration, and leaves no handle open',
    async () => {
      const jest = ['node_modules/jest/bin/jest.js', '--json', '--runInBand', '--detectOpenHandles']
      const { stdout, stderr } = await run(process.execPath, jest, { cwd: app, timeout: 4 * MINUTES })
      const { numPassedTests, numTotalTests } = JSON.parse(stdout)
      expect([numPassedTests, numTotalTests]).toEqual([5, 5])
      expect(stderr).not.toMatch(/open handle|did not exit/i)
    },
    5 * MINUTES,
  )

  it(
    'runs when it is bundled with one driver beside it',
    async () => {
      symlinkSync(join(root, 'node_modules/better-sqlite3'), join(app, 'node_modules/better-sqlite3'), 'junction')
      const result = await build({
        absWorkingDir: app,
        entryPoints: ['dist/main.js'],
        outfile: join(app, 'bundle.js'),
        bundle: true,
        platform: 'node',
        logLevel: 'silent',
        external: ['better-sqlite3', ...OPTIONAL.flatMap((name) => [name, `${name}/*`])],
      })
      expect(result.warnings).toEqual([])
      const output = await boot('bundle.js', 'sqlite:./ledger.db')
      expect(output).toContain('store sqlite (correct')
      expect(output).toMatch(/\[Fleetcron\] stopped/)
    },
    2 * MINUTES,
  )
})

import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Project } from './project.js'

const MINUTES = 60_000

/** What NestJS asks for only where an application uses it; bundlers leave it out. */
const OPTIONAL = ['@nestjs/microservices', '@nestjs/websockets', 'class-transformer', 'class-validator']

const nest11 = new Project('nest11')

beforeAll(() => nest11.prepare(), 10 * MINUTES)
afterAll(() => nest11.remove(), 5 * MINUTES)

describe('the standard project of NestJS 11, in CommonJS', () => {
  it(
    'boots, runs its jobs, and drains them when it is ended',
    async () => {
      const output = await nest11.boot('dist/main.js', 'memory:')
      expect(output).toContain('[AppService] beat 1')
      expect(output).toContain('FleetModule dependencies initialized')
      expect(output).toMatch(/\[Fleetcron\] stopped/)
    },
    2 * MINUTES,
  )

  it(
    'runs what is due of one job, as a platform starts it',
    async () => {
      const words = ['dist/job.js', 'heartbeat', '--early', '1m']
      const { stdout, stderr } = await nest11.run(process.execPath, words, { LEDGER: 'memory:' })
      expect(stdout).toMatch(/^(\S+Z succeeded\n)+$/)
      expect(stderr).toContain('[AppService] beat 1')
    },
    2 * MINUTES,
  )

  it(
    'compiles with the resolution of newer projects, too',
    () => nest11.tsc('--noEmit', '--incremental', 'false', '--module', 'nodenext', '--moduleResolution', 'nodenext'),
    2 * MINUTES,
  )

  it(
    'passes its Jest tests without any configuration, and leaves no handle open',
    async () => {
      const words = ['--json', '--runInBand', '--detectOpenHandles']
      const { stdout, stderr } = await nest11.node('node_modules/jest/bin/jest.js', ...words)
      const { numPassedTests, numTotalTests } = JSON.parse(stdout)
      expect([numPassedTests, numTotalTests]).toEqual([7, 7])
      expect(stderr).not.toMatch(/open handle|did not exit/i)
    },
    8 * MINUTES,
  )

  it(
    'runs when it is bundled with one driver beside it',
    async () => {
      const root = join(import.meta.dirname, '../..')
      symlinkSync(
        join(root, 'node_modules/better-sqlite3'),
        join(nest11.folder, 'node_modules/better-sqlite3'),
        'junction',
      )
      const result = await build({
        absWorkingDir: nest11.folder,
        entryPoints: ['dist/main.js'],
        outfile: join(nest11.folder, 'bundle.js'),
        bundle: true,
        platform: 'node',
        logLevel: 'silent',
        external: ['better-sqlite3', ...OPTIONAL.flatMap((name) => [name, `${name}/*`])],
      })
      expect(result.warnings).toEqual([])
      const output = await nest11.boot('bundle.js', 'sqlite:./ledger.db')
      expect(output).toContain('store sqlite, graded correct')
      expect(output).toMatch(/\[Fleetcron\] stopped/)
    },
    2 * MINUTES,
  )
})

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Project } from './project.js'

const MINUTES = 60_000

const nest12 = new Project('nest12')

beforeAll(() => nest12.prepare(), 10 * MINUTES)
afterAll(() => nest12.remove(), 5 * MINUTES)

describe('a project of NestJS 12, in ES modules, hybrid and on Fastify', () => {
  it(
    'boots, runs its jobs, and drains them when it is ended',
    async () => {
      const output = await nest12.boot('dist/main.js', 'memory:')
      expect(output).toContain('[BillingService] beat 1')
      expect(output).toContain('Nest microservice successfully started')
      expect(output).toMatch(/\[Fleetcron\] stopped/)
    },
    2 * MINUTES,
  )

  it('compiles its tests', () => nest12.tsc('--noEmit', '--incremental', 'false'), 2 * MINUTES)

  it(
    'passes its Vitest tests, and they end',
    async () => {
      const { stdout } = await nest12.node('node_modules/vitest/vitest.mjs', 'run', '--reporter=json')
      const { numPassedTests, numTotalTests } = JSON.parse(stdout)
      expect([numPassedTests, numTotalTests]).toEqual([6, 6])
    },
    8 * MINUTES,
  )
})

import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { build } from 'esbuild'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { CommandLine } from './command.js'

let command: CommandLine
let app = ''
let folder = ''

beforeAll(async () => {
  command = await CommandLine.build()
  app = join(dirname(command.script), 'app.js')
  const entry = join(import.meta.dirname, '../fixtures/platform-app.ts')
  await build({
    entryPoints: [entry],
    outfile: app,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
  })
})
afterAll(() => command.remove())
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'platform-'))
  writeFileSync(join(folder, 'worked'), '')
})
afterEach(() => rmSync(folder, { recursive: true }))

const environment = () => ({ LEDGER: `sqlite:${folder}/ledger.db`, WORKED: join(folder, 'worked') })
const worked = () => readFileSync(join(folder, 'worked'), 'utf8').split('\n').slice(0, -1)
const fire = (job: string, ...more: string[]) => command.run(['run', job, '--app', app, ...more], environment())

async function fired(job: string, ...more: string[]) {
  const { code, out, err } = await fire(job, '--json', ...more)
  expect(err).toBe('')
  return { code, ...(JSON.parse(out) as { runs: { key: string; state: string; attempt: number }[]; next: string }) }
}

describe('a platform that says when', () => {
  it('too early: the occurrence is waited for, and nothing else is run', async () => {
    const { code, runs } = await fired('often')
    expect({ code, states: runs.map(({ state }) => state) }).toEqual({ code: 0, states: ['succeeded'] })
    expect(worked()).toEqual([runs[0]?.key])
  })

  it('twice: the occurrence has one run, and both are told how it ended', async () => {
    await fired('often')
    const both = await Promise.all([fired('often'), fired('often')])
    expect(both.map(({ code }) => code)).toEqual([0, 0])
    const keys = worked()
    expect(new Set(keys).size).toBe(keys.length)
    for (const { runs } of both)
      expect(runs.every(({ key, state }) => state === 'succeeded' && keys.includes(key))).toBe(true)
  })

  it('late, or again: what is done stays done', async () => {
    const { runs } = await fired('often')
    const key = runs[0]?.key ?? ''
    const again = await fired('often', '--occurrence', key, '--early', '0s')
    expect(again).toMatchObject({ code: 0 })
    expect(again.runs).toContainEqual(expect.objectContaining({ key, state: 'succeeded', attempt: 1 }))
    expect(worked().filter((each) => each === key)).toHaveLength(1)
  })

  it('of a job that fails: 1', async () => {
    const { code, out } = await fire('fails')
    expect(code).toBe(1)
    expect(out).toMatch(/ failed: no rates\n/)
  })

  it('when nothing is due: the next instant, and 0', async () => {
    const { code, out } = await fire('rare')
    expect(code).toBe(0)
    expect(out).toMatch(/^nothing is due; next: \d{4}-01-01T00:00:00Z\n$/)
  })

  it('and asks the process to stop in the middle: it drains', async () => {
    const child = command.start(['run', 'long', '--app', app], environment())
    const closed = once(child, 'close')
    child.stdout.setEncoding('utf8')
    let out = ''
    for await (const text of child.stdout as AsyncIterable<string>) {
      out += text
      if (text.includes('begun')) child.kill('SIGTERM')
    }
    const [code] = await closed
    const key = worked()[0]?.replace('begun ', '') ?? ''
    expect({ code, out }).toEqual({ code: 0, out: `begun\n${key} succeeded\n` })
    const where = ['--store', environment().LEDGER, '--fleet', 'billing', '--json']
    const kept = await command.run(['run-info', 'long', key, ...where])
    expect(JSON.parse(kept.out)).toMatchObject({ state: 'succeeded', result: 'ended in good order' })
  })

  it.each([
    [['often', '--app', 'missing.js'], 2, 'The module missing.js cannot be loaded'],
    [['nobody'], 2, "Job 'nobody' is not one that the application hosts"],
    [['off'], 2, "Job 'off' is not one that the application hosts"],
    [['often', '--early', 'soon'], 2, 'is not a duration'],
  ])('%j ends with %i', async (args, code, message) => {
    const where = args.includes('--app') ? [] : ['--app', app]
    expect(await command.run(['run', ...args, ...where], environment())).toMatchObject({
      code,
      out: '',
      err: expect.stringContaining(message),
    })
  })

  it('while the store is away: 75, after so long', async () => {
    const away = { ...environment(), LEDGER: 'postgres://app:hunter2@127.0.0.1:1/app' }
    const { code, err } = await command.run(['run', 'often', '--app', app, '--patience', '200ms'], away)
    expect({ code, err }).toEqual({
      code: 75,
      err: 'fleetcron: The store could not be reached within 0.2 s: nothing was run.\n',
    })
  })
})

import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build, type Plugin } from 'esbuild'
import { afterAll, expect, it } from 'vitest'
import { type Mutant, mutants, patched } from './mutants/patch.js'

/**
 * The simulation's checkers are tested by what they catch: each patch puts one defect into the source as it is
 * bundled, and some seed must show it. A mutant that no seed shows is a hole in the checkers.
 */
const SEEDS = 5_000
const ROOT = fileURLToPath(new URL('..', import.meta.url))
const run = promisify(execFile)
const caught: string[] = []

/** Simulates seed after seed until something is broken, and says what. */
const HUNT = `
import './scripts/cheap-context.mjs'
import { simulate } from './src/testing/simulation/simulate.ts'
Error.stackTraceLimit = 0
let seed = 1
const say = (rule, what) => {
  process.stdout.write(JSON.stringify({ seed, rule, what }))
  process.exit(0)
}
process.on('unhandledRejection', (error) => say('unhandled rejection', String(error)))
for (; seed <= ${SEEDS}; seed++) {
  const { violations: [first] } = await simulate(seed)
  if (first) say(first.rule, first.what)
}
process.stdout.write('null')
`

async function hunt(mutant: Mutant): Promise<{ seed: number; rule: string; what: string } | null> {
  const files = patched(ROOT, mutant)
  const defect: Plugin = {
    name: mutant.name,
    setup(build) {
      build.onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const contents = files.get(path)
        return contents === undefined ? undefined : { contents, loader: 'ts' }
      })
    },
  }
  const folder = mkdtempSync(join(tmpdir(), 'fleetcron-mutant-'))
  try {
    const outfile = join(folder, 'hunt.mjs')
    const stdin = { contents: HUNT, resolveDir: ROOT, loader: 'ts' as const }
    const into = { bundle: true, outfile, platform: 'node', format: 'esm', target: 'node20' } as const
    await build({ ...into, stdin, plugins: [defect], logLevel: 'silent' })
    const { stdout } = await run(process.execPath, ['--max-semi-space-size=32', outfile])
    return JSON.parse(stdout)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** As many at a time as there are processors. */
const free = Array.from({ length: availableParallelism() }, () => Promise.resolve())
let turn = 0
function inTurn<R>(act: () => Promise<R>): Promise<R> {
  const lane = turn % free.length
  turn += 1
  const result = (free[lane] ?? Promise.resolve()).then(act)
  free[lane] = result.then(
    () => undefined,
    () => undefined,
  )
  return result
}

/** Those that every run hunts, each shown by one of the first few hundred seeds; MUTANTS=all hunts every patch of the folder. */
const ALWAYS = new Set([
  'belief-from-the-commit',
  'belief-from-the-reply',
  'catch-up-skipped-by-overlap',
  'commit-without-session',
  'covers-widened-after-the-grant',
  'cursor-outside-the-commit',
  'fence-at-the-first-write',
  'insert-ignores-a-clash',
  'instant-cursor',
  'key-freed-on-success',
  'key-from-the-instant',
  'renewal-after-the-end',
  'settle-changes-the-version',
  'settle-without-token',
  'strays-ignored',
])
const hunted = mutants().filter(({ name }) => process.env.MUTANTS === 'all' || ALWAYS.has(name))

it('has a patch for each mutant that is always hunted', () => {
  const names = new Set(mutants().map(({ name }) => name))
  expect([...ALWAYS].filter((name) => !names.has(name))).toEqual([])
})

it('has only patches that fit the source as it is', () => {
  for (const mutant of mutants()) expect(patched(ROOT, mutant).size, mutant.name).toBeGreaterThan(0)
})

afterAll(() => console.log(caught.sort().join('\n')))

it.concurrent.each(hunted)('$name: $title', { timeout: 3_600_000 }, async (mutant) => {
  const found = await inTurn(() => hunt(mutant))
  expect(found, `no seed up to ${SEEDS} shows it`).not.toBeNull()
  caught.push(`${mutant.name}: seed ${found?.seed}, ${found?.rule}: ${found?.what}`)
})

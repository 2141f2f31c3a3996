import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { afterAll, expect, it } from 'vitest'
import { applyPatch, type Mutant, mutants } from './mutants/patch.js'

/**
 * The simulation's checkers are tested by what they catch: each patch puts one defect into a copy of the source, and some
 * seed must show it. A mutant that no seed shows is a hole in the checkers.
 */
const SEEDS = 5_000
const ROOT = fileURLToPath(new URL('..', import.meta.url))
const run = promisify(execFile)
const caught: string[] = []

/** Simulates seed after seed until something is broken, and says what. */
const HUNT = `
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
  const copy = mkdtempSync(join(tmpdir(), 'fleetcron-mutant-'))
  try {
    for (const part of ['src', 'package.json']) cpSync(join(ROOT, part), join(copy, part), { recursive: true })
    symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
    applyPatch(copy, mutant)
    const outfile = join(copy, 'hunt.mjs')
    const stdin = { contents: HUNT, resolveDir: copy, loader: 'ts' as const }
    await build({ stdin, outfile, bundle: true, platform: 'node', format: 'esm', target: 'node20', logLevel: 'silent' })
    const { stdout } = await run(process.execPath, [outfile])
    return JSON.parse(stdout)
  } finally {
    rmSync(copy, { recursive: true, force: true })
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

/** Those that every run hunts; MUTANTS=all hunts every patch of the folder, which takes an hour. */
const ALWAYS = new Set([
  'beats-too-rare',
  'busy-ignored',
  'catch-up-skipped-by-overlap',
  'catch-up-starves',
  'commit-without-deadline',
  'covers-widened-after-the-grant',
  'cursor-follows-the-clock-back',
  'cursor-outside-the-commit',
  'definition-flips-at-boot',
  'definition-never-returns',
  'effect-without-its-key',
  'expectations-ignored',
  'failures-not-counted',
])
const hunted = mutants().filter(({ name }) => process.env.MUTANTS === 'all' || ALWAYS.has(name))

it('has a patch for each mutant that is always hunted', () => {
  const names = new Set(mutants().map(({ name }) => name))
  expect([...ALWAYS].filter((name) => !names.has(name))).toEqual([])
})

const hunts = new Map(hunted.map((mutant) => [mutant.name, inTurn(() => hunt(mutant))]))
for (const one of hunts.values()) one.catch(() => undefined)

afterAll(() => console.log(caught.sort().join('\n')))

it.each(hunted)('$name: $title', { timeout: 1_200_000 }, async ({ name }) => {
  const found = await hunts.get(name)
  expect(found, `no seed up to ${SEEDS} shows it`).not.toBeNull()
  caught.push(`${name}: seed ${found?.seed}, ${found?.rule}: ${found?.what}`)
})

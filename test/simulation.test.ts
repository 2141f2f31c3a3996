import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const SCRIPT = fileURLToPath(new URL('../scripts/simulate.mjs', import.meta.url))
const run = promisify(execFile)

const simulate = async (...words: string[]): Promise<string> => {
  const { stdout } = await run(process.execPath, [SCRIPT, ...words], { maxBuffer: 2 ** 28 })
  return stdout
}

/** Faults that have to have struck in the course of so many seeds: a simulation without them proves nothing. */
const FAULTS = [
  'request lost',
  'request late',
  'request doubled',
  'request stalled',
  'reply lost',
  'reply stalled',
  'store silent',
  'store refused',
  'store clock-stepped',
  'store restored',
  'store rewound',
  'store wiped',
  'process killed',
  'process paused',
  'process suspended',
  'process stopping',
  'process wall-stepped',
  'business-away',
  'handler throws',
  'handler throws-at-once',
  'handler throws-oddly',
  'handler hangs',
  'handler hangs-deaf',
  'handler deaf',
  'handler outlives',
  'handler returns-early',
  'handler kills',
  'asked trigger',
  'asked pause',
  'asked cancel',
  'asked backfill',
  'asked retry',
  'asked retire',
  'poked',
  'poke refused',
]

/** As many as two cores manage in about two minutes; SIMULATION_SEEDS asks for more, at night for instance. */
const SEEDS = Number(process.env.SIMULATION_SEEDS ?? 5_000)

it(`breaks no rule in ${SEEDS} seeds`, { timeout: 3_600_000 }, async () => {
  const { seeds, failed, occurrences, fewest, counts } = JSON.parse(await simulate('--seeds', String(SEEDS), '--json'))
  expect(failed).toEqual([])
  expect(seeds).toBe(SEEDS)
  expect(fewest).toBeGreaterThanOrEqual(20)
  expect(occurrences / seeds).toBeGreaterThanOrEqual(30)
  for (const fault of FAULTS) expect(counts[fault], fault).toBeGreaterThan(SEEDS / 100)
})

it('replays a seed byte for byte', { timeout: 120_000 }, async () => {
  for (const seed of ['7', '36']) {
    const [one, two] = await Promise.all([simulate('--seed', seed, '--trace'), simulate('--seed', seed, '--trace')])
    expect(one.split('\n').length).toBeGreaterThan(200)
    expect(two === one, `the histories of seed ${seed} differ`).toBe(true)
  }
})

it('refuses options it does not understand', async () => {
  for (const words of [['--seeds', 'many'], ['--seed', '1', '--seeds', '2'], ['--trace'], ['--nonsense']]) {
    await expect(simulate(...words)).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^simulate: .+\n$/),
    })
  }
})

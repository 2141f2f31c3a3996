import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const BENCH = join(import.meta.dirname, '..', 'bench', 'bench.mjs')

/** What the figures are is no test's business: they are the machine's as much as Fleetcron's. */
it('the bench prints one object, of which each figure is a number', async () => {
  const only = ['registration', 'idle'].flatMap((measure) => ['--only', measure])
  const { stdout } = await promisify(execFile)(process.execPath, [
    BENCH,
    '--json',
    '--tiny',
    '--store',
    'sqlite',
    ...only,
  ])
  const number = expect.any(Number)
  expect(JSON.parse(stdout)).toEqual({
    sqlite: {
      idleStatementsPerMinute: { '10': number, '1000': number, '100000': number },
      register10000Ms: number,
      register10000RssMb: number,
    },
  })
})

it.each([['--store', 'oracle'], ['--only', 'everything'], ['--fast']])('the bench refuses %s %s', async (...words) => {
  const refused = promisify(execFile)(process.execPath, [BENCH, ...words])
  await expect(refused).rejects.toMatchObject({ code: 2, stdout: '' })
})

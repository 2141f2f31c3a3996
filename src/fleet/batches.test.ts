import { describe, expect, it } from 'vitest'
import type { Change } from '../ledger/types.js'
import { inBatches } from './batches.js'

function change(job: string, runs: number): { change: Change } {
  return { change: { job, runs: Array.from({ length: runs }), events: [], definition: null } as unknown as Change }
}

function sizes(runs: readonly number[], rows?: number): number[][] {
  const batches = inBatches(
    runs.map((count, i) => change(String(i), count)),
    rows,
  )
  return batches.map((batch) => batch.map((one) => one.change.runs.length))
}

describe('commits by rows', () => {
  it.each([
    ['nothing', [], []],
    ['what fits is one commit', Array(200).fill(4), [Array(200).fill(4)]],
    [
      'what does not fit is the next one',
      [400, 400, 400, 1],
      [
        [400, 400],
        [400, 1],
      ],
    ],
    ['a change with more rows than a commit goes alone', [1, 2_000, 1], [[1], [2_000], [1]]],
    ['a full one is full', [999, 1], [[999], [1]]],
  ])('%s', (_, runs, expected) => {
    expect(sizes(runs)).toEqual(expected)
  })

  it('keeps the order and loses nothing', () => {
    const runs = Array.from({ length: 500 }, (_, i) => (i * 37) % 120)
    const found = sizes(runs, 100)
    expect(found.flat()).toEqual(runs)
    expect(Math.max(...found.map((batch) => batch.reduce((sum, count) => sum + count + 1, 0)))).toBeLessThanOrEqual(120)
  })
})

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { definitions, type Operation, operation, rewind, STARTS } from './model/operations.js'
import { Story } from './model/story.js'

/** How many stories are told; more by hand: `STORIES=20000 npx vitest run test/ledger/model`. */
const STORIES = Number(process.env.STORIES ?? 400)

const stories = (operations: fc.Arbitrary<Operation>) =>
  fc.nat({ max: STARTS.length - 1 }).chain((at) => {
    const [zone, start] = STARTS[at] ?? STARTS[0]
    return fc.record({
      start: fc.constant(Date.parse(start)),
      terms: fc.array(definitions(zone), { minLength: 1, maxLength: 3 }),
      differing: fc.boolean(),
      operations: fc.array(operations, { minLength: 10, maxLength: 60, size: 'max' }),
    })
  })

describe('any story of commands, by nodes with other zone data, over a network that loses, delays and doubles', () => {
  test('keeps S1 to S3, S6, S7, S12 and S14, and wakeAt is never late', { timeout: 3_600_000 }, () => {
    let occurrences = 0
    let grants = 0
    fc.assert(
      fc.property(stories(operation), ({ start, terms, differing, operations }) => {
        const story = new Story(start, terms, differing)
        story.play(operations)
        story.rest()
        occurrences += story.checks.occurrences
        grants += story.checks.grants
      }),
      { numRuns: STORIES },
    )
    expect(occurrences).toBeGreaterThan(STORIES * 5)
    expect(grants).toBeGreaterThan(STORIES)
  })

  test('keeps every row where the cursor is set back and the rows are not, and comes to rest', {
    timeout: 3_600_000,
  }, () => {
    const withRewinds = fc.oneof({ weight: 9, arbitrary: operation }, { weight: 1, arbitrary: rewind })
    fc.assert(
      fc.property(stories(withRewinds), ({ start, terms, differing, operations }) => {
        const story = new Story(start, terms, differing)
        story.play(operations)
        story.rest()
      }),
      { numRuns: Math.ceil(STORIES / 4) },
    )
  })
})

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { definitions, operation, STARTS } from './model/operations.js'
import { Story } from './model/story.js'

/** How many stories are told; more by hand: `STORIES=20000 npx vitest run test/ledger/model`. */
const STORIES = Number(process.env.STORIES ?? 400)

const place = fc.nat({ max: STARTS.length - 1 }).chain((at) => {
  const [zone, start] = STARTS[at] ?? STARTS[0]
  return fc.record({
    start: fc.constant(Date.parse(start)),
    terms: fc.array(definitions(zone), { minLength: 1, maxLength: 3 }),
    differing: fc.boolean(),
    operations: fc.array(operation, { minLength: 10, maxLength: 60, size: 'max' }),
  })
})

describe('any story of commands, by nodes with other zone data, over a network that loses, delays and doubles', () => {
  test('keeps S1 to S3, S6, S7, S12 and S14, and wakeAt is never late', { timeout: 3_600_000 }, () => {
    let occurrences = 0
    let grants = 0
    fc.assert(
      fc.property(place, ({ start, terms, differing, operations }) => {
        const story = new Story(start, terms, differing)
        story.play(operations)
        story.rest()
        occurrences += story.checks.occurrences
        grants += story.checks.grants
      }),
      // Few stories are for mutation testing, which asks only whether one fails: nobody reads the shortest.
      { numRuns: STORIES, endOnFailure: STORIES < 100 },
    )
    expect(occurrences).toBeGreaterThan(STORIES * 5)
    expect(grants).toBeGreaterThan(STORIES)
  })
})

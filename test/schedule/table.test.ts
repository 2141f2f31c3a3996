import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { FleetcronError } from '../../src/errors.js'
import { nextOccurrences, parseSchedule, previousOccurrences, scheduleSpec } from '../../src/schedule/index.js'

interface Case {
  readonly id: string
  readonly expression: string
  readonly timezone: string
  readonly from: string
  readonly expectedNext?: readonly string[]
  readonly jobClass?: string
  readonly count?: number
  readonly expectedError?: true
  readonly note: string
}

const path = new URL('../cases/schedule.json', import.meta.url)
const table = JSON.parse(readFileSync(path, 'utf8')) as readonly Case[]

/** British Columbia stays at -7 from November 2026; data before 2026a does not know. */
const VANCOUVER_STAYS = (process.versions.tz ?? '') >= '2026a'
/** "Rejecting is equally acceptable": `1/2` reads as two things, so it is refused with the one that is clear. */
const REFUSED = new Set(['P27'])

const refused = table.filter(({ id, expectedError }) => expectedError === true || REFUSED.has(id))
const accepted = table.filter((row) => !refused.includes(row))

function expectedOf({ id, expectedNext }: Case): readonly string[] {
  return id === 'S44' && !VANCOUVER_STAYS ? ['2026-12-01T17:00:00.000Z'] : (expectedNext ?? [])
}

const iso = (instant: number) => new Date(instant).toISOString()

describe('the table of cases', () => {
  it.each(accepted)('$id $expression $timezone: $note', (row) => {
    const { expression: cron, timezone: timeZone } = row
    const expected = expectedOf(row)
    const schedule = parseSchedule(scheduleSpec({ cron, timeZone }), { anchor: 0 })
    expect(schedule.kind).toBe(row.jobClass)

    const from = Date.parse(row.from)
    const found = nextOccurrences(cron, { timeZone, from, count: row.count ?? 0 })
    expect(found.map(({ instant }) => iso(instant))).toEqual(expected)

    const end = Date.parse(expected.at(-1) ?? '')
    const cursor = schedule.cursorAt(from)
    expect(schedule.count(cursor, end)).toBe(expected.length)
    expect(schedule.latest(cursor, end, expected.length).map(({ instant }) => iso(instant))).toEqual(expected)
    expect(previousOccurrences(cron, { timeZone, from: end + 1, count: expected.length })).toEqual(found)
  })

  it.each(refused)('$id $expression $timezone is refused: $note', ({ expression: cron, timezone: timeZone }) => {
    const error = refusal(() => scheduleSpec({ cron, timeZone }))
    expect(error.code).toBe(timeZone === 'UTC' ? 'SCHEDULE_INVALID' : 'ZONE_UNKNOWN')
    expect(error.message).toContain(timeZone === 'UTC' ? `'${cron}'` : `'${timeZone}'`)
  })

  it('S45 looking back from a minute after a gap, the latest is the run at its end', () => {
    const [latest] = previousOccurrences('0 2 * * *', {
      timeZone: 'America/New_York',
      from: Date.parse('2020-03-08T07:01:00.000Z'),
      count: 1,
    })
    expect(latest).toMatchObject({ key: '2020-03-08T02:00', instant: Date.parse('2020-03-08T07:00:00.000Z') })
  })
})

function refusal(act: () => unknown): FleetcronError {
  try {
    act()
  } catch (error) {
    if (error instanceof FleetcronError) return error
    throw error
  }
  throw new Error('was accepted')
}

import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { FleetcronError } from '../errors.js'
import { parseSchedule, scheduleSpec } from './index.js'

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

const path = new URL('../../test/cases/schedule.json', import.meta.url)
const cases = JSON.parse(readFileSync(path, 'utf8')) as Case[]

describe('the table of cases', () => {
  it.each(cases.filter((c) => c.expectedError !== true && c.id !== 'S44' && c.id !== 'P27'))(
    '$id $expression $timezone: $note',
    (c) => {
      const schedule = parseSchedule(scheduleSpec({ cron: c.expression, timeZone: c.timezone }), { anchor: 0 })
      expect(schedule.kind).toBe(c.jobClass)
      const cursor = schedule.cursorAt(Date.parse(c.from))
      const found = schedule.between(cursor, Number.POSITIVE_INFINITY, c.count ?? 0)
      expect(found.map((o) => new Date(o.instant).toISOString())).toEqual(c.expectedNext)
    },
  )
  it.each(cases.filter((c) => c.expectedError === true))('$id $expression $timezone is refused: $note', (c) => {
    let err: unknown
    try {
      scheduleSpec({ cron: c.expression, timeZone: c.timezone })
    } catch (e) {
      err = e
      console.log((e as Error).message)
    }
    expect(err).toBeInstanceOf(FleetcronError)
  })
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parse as parseYaml } from 'yaml'
import { kubernetesFields } from '../../src/cli/kubernetes/fields.js'
import { kubernetesName } from '../../src/cli/kubernetes/names.js'
import { timingOf } from '../../src/cli/kubernetes/schedule.js'
import { yaml } from '../../src/cli/kubernetes/yaml.js'
import { parseSchedule, scheduleSpec } from '../../src/schedule/index.js'
import { robfig } from './robfig.js'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

describe('an expression for Kubernetes', () => {
  it.each([
    ['*/5 * * * *', '*/5 * * * *'],
    ['0 0 9 * * MON-FRI', '0 9 * * 1-5'],
    ['0 9 * * 5-7', '0 9 * * 0,5,6'],
    ['@weekly', '0 0 * * 0'],
    ['0 0 1-31 * 1', '0 0 1-31 * 1'],
    ['0 0 */1 * 1', '0 0 1-31 * 1'],
    ['0 0 ? JAN,MAR *', '0 0 * 1,3 *'],
    ['5-59/10 0-23/6 1 * *', '5,15,25,35,45,55 */6 1 * *'],
    ['00 007 * * *', '0 7 * * *'],
  ])('%s is %s', (cron, text) => expect(kubernetesFields(cron)).toEqual({ text }))

  it.each(['30 0 9 * * *', '0 9 L * *', '0 9 15W * *', '0 9 LW * *', '0 9 * * 5#2', '0 9 * * 5#L', '0 9 1 * +1'])(
    '%s is none',
    (cron) => {
      expect(() => scheduleSpec({ cron, timeZone: 'UTC' })).not.toThrow()
      expect(kubernetesFields(cron)).toMatchObject({ why: expect.any(String) })
    },
  )

  it('is due at the same wall times, as Kubernetes reads it, wherever there is one', () => {
    const field = (low: number, high: number) => {
      const number = fc.integer({ min: low, max: high })
      const range = fc.tuple(number, number).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`)
      const stepped = fc
        .tuple(fc.oneof(range, fc.constant('*')), fc.integer({ min: 1, max: high }))
        .map(([r, s]) => `${r}/${s}`)
      const piece = fc.oneof(number.map(String), range, stepped)
      return fc.oneof(fc.constant('*'), fc.constant('?'), fc.array(piece, { minLength: 1, maxLength: 3 }).map(String))
    }
    const expression = fc
      .tuple(field(0, 59), field(0, 23), field(1, 31), field(1, 12), field(0, 7))
      .map((all) => all.join(' '))
    let compared = 0
    fc.assert(
      fc.property(expression, fc.integer({ min: 0, max: 3_650 }), (cron, days) => {
        let spec: ReturnType<typeof scheduleSpec>
        try {
          spec = scheduleSpec({ cron, timeZone: 'UTC' })
        } catch {
          return
        }
        const fields = kubernetesFields(cron)
        if ('why' in fields) throw new Error(`${cron}: ${fields.why}`)
        const isDue = robfig(fields.text)
        const schedule = parseSchedule(spec, { anchor: 0 })
        const first = schedule.next(schedule.cursorAt(Date.UTC(2026, 0, 1) + days * DAY))?.instant ?? 0
        const from = Math.floor(first / DAY - 1) * DAY
        const instants = schedule
          .between(schedule.cursorAt(from), from + 3 * DAY, 100_000)
          .map(({ instant }) => instant)
        const expected: number[] = []
        for (let at = from + MINUTE; at <= from + 3 * DAY; at += MINUTE) if (isDue(new Date(at))) expected.push(at)
        expect(instants, `${cron} as ${fields.text}`).toEqual(expected)
        compared += 1
      }),
      { numRuns: 300 },
    )
    expect(compared).toBeGreaterThan(100)
  })

  it('of a period starts a process for each of its occurrences, at most a minute before', () => {
    const periods = [1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30, 60, 120, 180, 240, 360, 480, 720, 1_440].map(
      (n) => n * MINUTE,
    )
    const start = Date.UTC(2026, 10, 29)
    fc.assert(
      fc.property(fc.constantFrom(...periods), fc.integer({ min: 0, max: 2 * DAY }), (every, offset) => {
        const anchor = start - 10 * DAY + offset
        const timing = timingOf({ every }, anchor, start, MINUTE)
        if ('why' in timing) throw new Error(timing.why)
        expect(timing.timeZone).toBe('Etc/UTC')
        const isDue = robfig(timing.schedule)
        const starts: number[] = []
        for (let at = start; at < start + 2 * DAY; at += MINUTE) if (isDue(new Date(at))) starts.push(at)
        const schedule = parseSchedule({ every }, { anchor })
        const due = schedule.between(schedule.cursorAt(start - 1), start + 2 * DAY - 1, 10_000)
        expect(starts).toEqual(due.map(({ instant }) => Math.floor(instant / MINUTE) * MINUTE))
      }),
    )
    for (const every of [90_000, 7 * MINUTE, 90 * MINUTE, 5 * HOUR, 2 * DAY]) {
      expect(timingOf({ every }, start, start, MINUTE)).toMatchObject({ why: expect.any(String) })
    }
  })
})

describe('a time zone for Kubernetes', () => {
  it.each([
    ['Europe/Helsinki', 'Europe/Helsinki'],
    ['europe/helsinki', 'Europe/Helsinki'],
    ['AMERICA/NEW_YORK', 'America/New_York'],
    ['us/pacific', 'America/Los_Angeles'],
    ['US/Pacific', 'US/Pacific'],
    ['etc/gmt+3', 'Etc/GMT+3'],
    ['utc', 'Etc/UTC'],
    ['+02:00', 'Etc/GMT-2'],
  ])('%s is %s, as its file is called', (timeZone, name) => {
    const spec = scheduleSpec({ cron: '0 12 * * *', timeZone })
    expect(timingOf(spec, null, Date.UTC(2026, 10, 29), MINUTE)).toMatchObject({ timeZone: name })
  })
})

describe('names and texts', () => {
  it('names are valid, unique, and do not depend on other jobs', () => {
    const names = [
      'daily-invoices',
      'Daily Invoices',
      'daily_invoices',
      'Invoices.daily',
      'täglich',
      '日次',
      'a'.repeat(52),
      'a'.repeat(53),
      '-x-',
      '',
    ]
    const made = names.map((name) => kubernetesName(name, `billing:${name}`))
    expect(new Set(made).size).toBe(names.length)
    for (const name of made) {
      expect(name).toMatch(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/)
      expect(name.length).toBeLessThanOrEqual(52)
    }
    expect(made[0]).toBe('daily-invoices')
    expect(made[3]).toMatch(/^invoices-daily-[0-9a-f]{8}$/)
  })

  it('YAML says what was meant, whatever it is', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('no', '1e3', '0x1', '~', '- a', 'a: b', 'a #b', '2026-11-29', '', ' '),
    )
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { depthSize: 'small' },
        text,
        fc.integer(),
        fc.boolean(),
        fc.array(tie('tree'), { maxLength: 3 }),
        fc.dictionary(text, tie('tree'), { maxKeys: 3, noNullPrototype: true }),
      ),
    }))
    fc.assert(
      fc.property(tree, (value) => {
        expect(parseYaml(yaml(value as never))).toEqual(value)
      }),
    )
  })
})

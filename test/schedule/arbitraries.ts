import fc from 'fast-check'
import { scheduleSpec } from '../../src/schedule/index.js'

const numbers = (low: number, high: number) => fc.integer({ min: low, max: high }).map(String)

const sixty = (stars: readonly string[]) =>
  fc.oneof(
    fc.constantFrom('0', '30', '15,45', '0-10', '29,30,31', '59', '55-59,0-4', ...stars),
    numbers(0, 59),
    fc
      .tuple(fc.integer({ min: 0, max: 59 }), fc.integer({ min: 0, max: 59 }))
      .map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`),
  )

const minutes = sixty(['*', '*/15', '5-50/7'])
const seconds = sixty(['*', '*/20', '1-59/29'])
const hours = fc.oneof(
  fc.constantFrom('0', '1', '2', '3', '23', '0,23', '1-3', '0-23', '22-23', '*', '*/2', '1-23/3', '?'),
  numbers(0, 23),
)
const days = fc.oneof(
  { weight: 5, arbitrary: fc.constant('*') },
  {
    weight: 2,
    arbitrary: fc.constantFrom('1-31', '*/2', 'L', 'LW', '15W', '1W', '31W', '1,15,L', '28-31', '1-7', '?'),
  },
  { weight: 1, arbitrary: numbers(1, 31) },
)
const months = fc.oneof(
  { weight: 5, arbitrary: fc.constant('*') },
  { weight: 1, arbitrary: fc.constantFrom('3,10', '*/2', '3-11', '2', '11') },
)
const weekdays = fc.oneof(
  { weight: 5, arbitrary: fc.constant('*') },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      '0',
      '7',
      '1-5',
      '5-7',
      'MON-FRI',
      'sat-sun',
      '0#1',
      '7#L',
      '5#2',
      '1-5#3',
      '*/2',
      '+0',
      '+1-5',
    ),
  },
)

/** Date fields alone, over all months. */
export const dateFields = fc.tuple(days, months, weekdays).map((fields) => fields.join(' '))

/** Expressions to the minute. */
export const minuteExpressions = fc.tuple(minutes, hours, dateFields).map((fields) => fields.join(' '))

/** Expressions to the second, on dates that are not rare. */
export const secondExpressions = fc
  .tuple(seconds, minutes, hours, fc.constantFrom('* * *', '* * 0', '1-31 * *', '* * +*'))
  .map((fields) => fields.join(' '))

/** Random fields also make 31 February; that it is refused is another test's subject. */
export function isPossible(cron: string): boolean {
  try {
    scheduleSpec({ cron, timeZone: 'UTC' })
    return true
  } catch {
    return false
  }
}

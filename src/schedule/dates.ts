import { CronDate, type CronPattern } from 'croner'
import { civilDate, DAY_MS, dayNumber, daysInMonth, FIRST_YEAR, isLeapYear, LAST_YEAR, weekday } from './calendar.js'

const LAST_MONTH = LAST_YEAR * 12 + 11
const FIRST_MONTH = FIRST_YEAR * 12

/** The dates of an expression, as day numbers. */
export class Dates {
  /** Per shape of month: a mask of its days, and in bit 31 that the mask is known. */
  private readonly masks = new Uint32Array(12 * 7 * 2)

  constructor(private readonly pattern: CronPattern) {}

  get isPossible(): boolean {
    // The calendar repeats after 400 years, and 28 years without a missing leap day hold every shape of every month.
    for (let month = 2000 * 12; month < 2028 * 12; month++) if (this.mask(month) !== 0) return true
    return false
  }

  has(day: number): boolean {
    const date = civilDate(day)
    return ((this.mask(date.year * 12 + date.month) >>> (date.day - 1)) & 1) === 1
  }

  /** The first matching day not before `day`, or null. */
  next(day: number): number | null {
    const date = civilDate(day)
    let month = date.year * 12 + date.month
    let mask = this.mask(month) & (ALL_DAYS << (date.day - 1))
    while (mask === 0) {
      month += 1
      if (month > LAST_MONTH) return null
      mask = this.mask(month)
    }
    return firstOfMonth(month) + 31 - Math.clz32(mask & -mask)
  }

  /** The last matching day not after `day`, or null. */
  last(day: number): number | null {
    const date = civilDate(day)
    let month = date.year * 12 + date.month
    let mask = this.mask(month) & (ALL_DAYS >>> (31 - date.day))
    while (mask === 0) {
      month -= 1
      if (month < FIRST_MONTH) return null
      mask = this.mask(month)
    }
    return firstOfMonth(month) + 31 - Math.clz32(mask)
  }

  /** How many matching days are not before `from` and not after `to`. */
  count(from: number, to: number): number {
    if (to < from) return 0
    const first = civilDate(from)
    const last = civilDate(to)
    const firstMonth = first.year * 12 + first.month
    const lastMonth = last.year * 12 + last.month
    let count = 0
    for (let month = firstMonth; month <= lastMonth; month++) {
      let mask = this.mask(month)
      if (month === firstMonth) mask &= ALL_DAYS << (first.day - 1)
      if (month === lastMonth) mask &= ALL_DAYS >>> (31 - last.day)
      count += bits(mask)
    }
    return count
  }

  /** The days of a month (year * 12 + month) that match: bit 0 is the first. */
  private mask(month: number): number {
    const year = Math.floor(month / 12)
    const ofYear = month - year * 12
    const leap = isLeapYear(year)
    const first = firstOfMonth(month)
    const shape = (ofYear * 7 + weekday(first)) * 2 + (leap ? 1 : 0)
    const known = this.masks[shape] ?? 0
    if (known !== 0) return known & ALL_DAYS
    const days = daysInMonth(ofYear, leap)
    let mask = 0
    for (let day = 0; day < days; day++) {
      if (new CronDate(new Date((first + day) * DAY_MS), 0).match(this.pattern, {})) mask |= 1 << day
    }
    this.masks[shape] = mask | KNOWN
    return mask
  }
}

const ALL_DAYS = 0x7fffffff
const KNOWN = 0x80000000

function firstOfMonth(month: number): number {
  return dayNumber(Math.floor(month / 12), month % 12, 1)
}

function bits(mask: number): number {
  let rest = mask
  let count = 0
  while (rest !== 0) {
    rest &= rest - 1
    count += 1
  }
  return count
}

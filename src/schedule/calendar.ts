/** Arithmetic of the Gregorian calendar on day numbers (0 is 1970-01-01). No zone and no clock is involved. */

export const SECOND_MS = 1_000
export const DAY_MS = 86_400_000

/** Schedules know wall time of these years: labels have four digits of year, and so compare as text. */
export const FIRST_YEAR = 1900
export const LAST_YEAR = 9999
export const FIRST_WALL = Date.UTC(FIRST_YEAR, 0, 1)
export const LAST_WALL = Date.UTC(LAST_YEAR, 11, 31, 23, 59, 59, 999)

/** A date; `month` counts from 0, as in `Date`. */
export interface CivilDate {
  readonly year: number
  readonly month: number
  readonly day: number
}

/** The date of a day number. */
export function civilDate(dayNumber: number): CivilDate {
  const date = new Date(dayNumber * DAY_MS)
  return { year: date.getUTCFullYear(), month: date.getUTCMonth(), day: date.getUTCDate() }
}

/** The day number of a date; a month outside 0 to 11 or a day outside its month runs over into its neighbours. */
export function dayNumber(year: number, month: number, day: number): number {
  return Date.UTC(year, month, day) / DAY_MS
}

/** 0 for Sunday to 6 for Saturday. */
export function weekday(dayNumber: number): number {
  return (((dayNumber + 4) % 7) + 7) % 7
}

export function isLeapYear(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
}

const MONTH_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const

export function daysInMonth(month: number, leap: boolean): number {
  return month === 1 && leap ? 29 : (MONTH_DAYS[month] ?? 31)
}

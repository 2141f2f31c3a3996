import { CronPattern } from 'croner'
import { FleetcronError } from '../errors.js'
import { BoundedMap } from './bounded-map.js'
import { CronMoments } from './cron-moments.js'
import { Dates } from './dates.js'
import { quote } from './quote.js'
import { FIELDS, remedyFor } from './remedies.js'
import type { ScheduleKind } from './types.js'

/** A parsed cron expression; it is shared by every schedule with the same text. */
export interface Expression {
  readonly text: string
  readonly kind: ScheduleKind
  /** Its wall times. */
  readonly moments: CronMoments
}

/** The longest expression that is read; the longest useful ones are far below. */
const MAX_LENGTH = 256

const parsed = new BoundedMap<string, Expression>(4_096)

/** By their fields: ten thousand expressions choose among a handful of dates, and croner's pattern of one takes 80 kB. */
const dates = new BoundedMap<string, Dates>(512)

/** The text under which an expression is stored and shared: fields apart by one space. */
function normaliseExpression(text: string): string {
  if (typeof text !== 'string') throw invalid(text, 'it is not a text', "write five or six fields, as '0 9 * * 1'")
  if (text.length > MAX_LENGTH) {
    throw invalid(text, `it has ${text.length} characters`, `write at most ${MAX_LENGTH}`)
  }
  return text.trim().replace(/\s+/g, ' ')
}

/**
 * The expression with this text.
 *
 * @throws FleetcronError `SCHEDULE_INVALID`, naming the expression, the field and the remedy
 */
export function parseExpression(text: string): Expression {
  const normal = normaliseExpression(text)
  return parsed.getOrCompute(normal, () => parse(normal))
}

function parse(text: string): Expression {
  const pattern = read(text)
  const fields = dateFields(pattern.pattern)
  const moments = new CronMoments(
    pattern,
    dates.getOrCompute(fields, () => new Dates(new CronPattern(fields, undefined, MODE))),
  )
  if (!moments.isPossible) {
    const [day, month, weekday = '*'] = pattern.pattern.split(' ').slice(-3)
    // A plus asks for both days: each may exist, and no date be both.
    const isBoth = weekday.startsWith('+')
    throw invalid(
      text,
      `no year has a date with day of month '${day}' and month '${month}'${isBoth ? ` that is day of week '${weekday.slice(1)}' too` : ''}`,
      isBoth
        ? 'leave the plus out for either of the two, or write days that meet'
        : "write a day that the month has, or 'L' for its last day",
    )
  }
  // "No star and no step in seconds, minutes, hours" is croner's rule "no-wildcard".
  return { text, kind: pattern.isFixedTime ? 'fixed-time' : 'interval-like', moments }
}

const MODE = { mode: '5-or-6-parts', fixedTimeRule: 'no-wildcard' } as const

function read(text: string): CronPattern {
  if (text === '') throw invalid(text, 'it is empty', "write five or six fields, as '0 9 * * 1'")
  if (text.startsWith('@') && !NICKNAMES.includes(text.toLowerCase())) {
    const why =
      text.toLowerCase() === '@reboot' ? 'a start of a process is no moment of a fleet' : 'it is no known alias'
    throw invalid(text, why, `write one of ${NICKNAMES.join(', ')}, or five or six fields`)
  }
  try {
    return new CronPattern(text, undefined, MODE)
  } catch (error) {
    throw explain(text, error)
  }
}

const NICKNAMES = ['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly']

/** Finds the field that croner refuses, by asking for each one alone. */
function explain(text: string, error: unknown): FleetcronError {
  const fields = text.split(' ')
  if (fields.length < 5 || fields.length > 6) {
    return invalid(text, `it has ${fields.length} fields`, 'write five (minutes first) or six (seconds first)')
  }
  const offset = 6 - fields.length
  for (const [index, value] of fields.entries()) {
    const field = FIELDS[index + offset]
    const alone = Array<string>(6).fill('*')
    alone[index + offset] = value
    try {
      new CronPattern(alone.join(' '), undefined, MODE)
    } catch (cause) {
      if (field !== undefined)
        return invalid(text, `${field.name} ${quote(value)} is refused`, remedyFor(value, field), cause)
    }
  }
  return invalid(text, error instanceof Error ? error.message : String(error), 'write five or six fields', error)
}

/** The fields that choose dates, as an expression for midnight. */
function dateFields(pattern: string): string {
  return `0 0 0 ${pattern.split(' ').slice(-3).join(' ')}`
}

function invalid(text: string, why: string, remedy: string, cause?: unknown): FleetcronError {
  return new FleetcronError('SCHEDULE_INVALID', `Cron expression ${quote(text)}: ${why}: ${remedy}.`, { cause })
}

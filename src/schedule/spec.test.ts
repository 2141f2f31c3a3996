import { describe, expect, it } from 'vitest'
import { parseSchedule } from './schedule.js'
import { type ScheduleInput, scheduleSpec } from './spec.js'

const UTC = { timeZone: 'UTC' }

describe('scheduleSpec', () => {
  it('gives the data that is stored, with blanks and zones made alike', () => {
    expect(scheduleSpec({ cron: '  0\t9  * * 1-5\n', timeZone: 'Europe/Helsinki' })).toEqual({
      cron: '0 9 * * 1-5',
      timeZone: 'Europe/Helsinki',
      dstGap: 'next',
    })
    expect(scheduleSpec({ cron: '@daily', timeZone: 'utc', dstGap: 'skip' })).toEqual({
      cron: '@daily',
      timeZone: 'UTC',
      dstGap: 'skip',
    })
    expect(scheduleSpec({ cron: '@daily', timeZone: '-0330' })).toMatchObject({ timeZone: '-03:30' })
    expect(scheduleSpec({ every: '15m', ...UTC })).toEqual({ every: 900_000 })
    expect(scheduleSpec({ every: 1_000, ...UTC })).toEqual({ every: 1_000 })
  })

  it.each<[ScheduleInput['at'], string]>([
    ['2026-12-01T09:00', '2026-12-01T09:00'],
    ['2026-12-01 09:00:00', '2026-12-01T09:00'],
    ['2026-12-01T09:00:07.5', '2026-12-01T09:00:07.500'],
    ['2026-12-01T09:00+02:00', '2026-12-01T07:00:00.000Z'],
    ['2026-12-01T09:00-0330', '2026-12-01T12:30:00.000Z'],
    ['2026-12-01T09:00:00.25Z', '2026-12-01T09:00:00.250Z'],
    [new Date(1_700_000_000_123), '2023-11-14T22:13:20.123Z'],
  ])('stores at %s as %s', (at, stored) => {
    const spec = scheduleSpec({ at, timeZone: 'Europe/Helsinki' })
    expect(spec).toEqual({ at: stored, timeZone: 'Europe/Helsinki', dstGap: 'next' })
    expect(scheduleSpec({ at: stored, timeZone: 'Europe/Helsinki' })).toEqual(spec)
  })

  it.each<[Omit<ScheduleInput, 'timeZone'> & { timeZone?: string }, string]>([
    [{}, 'exactly one of cron, every and at; this one has none'],
    [{ cron: '@daily', every: '1h' }, 'this one has cron and every'],
    [{ at: '2026-02-30T00:00' }, "at '2026-02-30T00:00' is no moment"],
    [{ at: '2026-12-01' }, "write a wall time as '2026-11-29T09:00'"],
    [{ at: '2026-12-01T24:00' }, 'is no moment'],
    [{ at: '2026-12-01T09:00+2' }, 'is no moment'],
    [{ at: new Date(Number.NaN) }, 'invalid Date'],
    [{ at: '2011-12-30T09:00', timeZone: 'Pacific/Apia' }, 'its clock leaves out that date'],
    [{ at: '2026-03-08T02:30', timeZone: 'America/New_York', dstGap: 'skip' }, 'its clock leaves out that time'],
    [{ every: '999ms' }, 'write at least 1s'],
    [{ every: 0 }, 'write at least 1s'],
    [{ cron: '@daily', dstGap: 'both' as 'next' }, "dstGap is 'both': write 'next' or 'skip'"],
    [{ cron: 5 as unknown as string }, 'it is not a text'],
  ])('refuses %j: %s', (input, why) => {
    const act = () => scheduleSpec({ ...UTC, ...input })
    expect(act).toThrow(why)
    expect(act).toThrow(expect.objectContaining({ code: 'SCHEDULE_INVALID' }))
  })

  it.each([
    'Mars/Olympus',
    '',
    ' UTC ',
    ' +02:00',
    ' Europe/Helsinki ',
    '+2',
    '+25:00',
    '+02:75',
    '-19:00',
    'Europe/Helsinki; x',
    'local',
    undefined as unknown as string,
  ])('does not know the zone %j', (timeZone) => {
    const act = () => scheduleSpec({ cron: '@daily', timeZone })
    expect(act).toThrow(expect.objectContaining({ code: 'ZONE_UNKNOWN' }))
    expect(act).toThrow("write an IANA name such as 'Europe/Helsinki'")
  })

  it('refuses data of no kind', () => {
    expect(() => parseSchedule({ timeZone: 'UTC' } as never, { anchor: 0 })).toThrow('one of cron, every and at')
  })
})

describe('a refused expression names its field and the remedy', () => {
  it.each([
    ['60 * * * *', "minutes '60'", 'allowed are 0-59'],
    ['* 60 * * * *', "minutes '60'", 'allowed are 0-59'],
    ['61 * * * * *', "seconds '61'", 'allowed are 0-59'],
    ['0 24 * * *', "hours '24'", 'allowed are 0-23'],
    ['0 0 0 * *', "day of month '0'", 'allowed are 1-31'],
    ['0 0 5,LW * *', "day of month '5,LW'", 'LW stands for itself, in no list'],
    ['0 0 1W * +5#L', "day of month '1W'", 'leave the plus out for either of the two'],
    ['0 0 29 * +SUN#2', "that is day of week 'SUN#2' too", 'or write days that meet'],
    ['0 0 1 13 *', "month '13'", 'JAN-DEC'],
    ['0 0 * * 8', "day of week '8'", 'SUN-SAT'],
    ['0 0 * * SUNDAY', "day of week 'SUNDAY'", 'SUN-SAT'],
    ['5/2 * * * *', "minutes '5/2'", 'write 5-59/2'],
    ['0 1/2 * * *', "hours '1/2'", 'write 1-23/2'],
    ['0 0 * * 1/2', "day of week '1/2'", 'write 1-6/2'],
    ['/5 * * * *', "minutes '/5'", 'write */5'],
    ['*/0 * * * *', "minutes '*/0'", 'at least 1'],
    ['50-10 * * * *', "minutes '50-10'", 'write 50-59,0-10'],
    ['0 22-3 * * *', "hours '22-3'", 'write 22-23,0-3'],
    ['0 23-0 * * *', "hours '23-0'", 'write 23,0'],
    ['0 0 * * fri-mon', "day of week 'fri-mon'", 'write 5-6,0-1'],
    ['0 0 1 NOV-FEB *', "month 'NOV-FEB'", 'write 11-12,1-2'],
    ['0 0 * * 1#6', "day of week '1#6'", '1#1 to 1#5'],
    ['0 0 1#2 * *', "day of month '1#2'", '# belongs to the day of week'],
    ['0 0 30 2 *', "month '2'", "'L' for its last day"],
    ['0 0 31 2,4,6,9,11 *', "day of month '31'", "'L' for its last day"],
    ['@reboot', 'no moment of a fleet', '@daily'],
    ['@every 5m', 'no known alias', '@daily'],
    ['* * * *', 'it has 4 fields', 'five (minutes first) or six'],
    ['0 0 9 * * 1 2027', 'it has 7 fields', 'five (minutes first) or six'],
    ['', 'it is empty', 'five or six fields'],
    [`0 0 1${',1'.repeat(200)} * *`, 'it has 409 characters', 'at most 256'],
  ])('%s: %s: %s', (cron, field, remedy) => {
    const act = () => scheduleSpec({ cron, ...UTC })
    expect(act).toThrow(field)
    expect(act).toThrow(remedy)
    expect(act).toThrow(expect.objectContaining({ code: 'SCHEDULE_INVALID' }))
  })

  it.each([
    '1,,2 * * * *',
    ',1 * * * *',
    '1- * * * *',
    '-1 * * * *',
    '** * * * *',
    '1? * * * *',
    '*-5 * * * *',
    '*/61 * * * *',
    '1.5 * * * *',
    '0x1 * * * *',
    '１ * * * *',
    '0 0 W * *',
    '0 0 1-5W * *',
    '0 0 L-3 * *',
    '0 0 31W 2 *',
    '0 0 * * L',
    '0 0 * * +',
    '0 0 * * *#2',
    '0 0 * * 1#1#2',
    '10-50/0 * * * *',
    '5/2x * * * *',
    '0 0 * * *; rm',
  ])('refuses %s', (cron) => {
    expect(() => scheduleSpec({ cron, ...UTC })).toThrow(expect.objectContaining({ code: 'SCHEDULE_INVALID' }))
  })

  it('shows no control characters of a hostile text', () => {
    const act = () => scheduleSpec({ cron: '0 0 \u001b[31m * *', ...UTC })
    expect(act).toThrow("'0 0 ?[31m * *'")
  })
})

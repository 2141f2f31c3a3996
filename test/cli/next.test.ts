import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { nextOccurrences } from '../../src/schedule/index.js'
import { CommandLine, type Outcome } from './command.js'

let command: CommandLine

beforeAll(async () => {
  command = await CommandLine.build()
})
afterAll(() => command.remove())

function fleetcron(args: readonly string[], env: Record<string, string> = {}): Promise<Outcome> {
  return command.run(args, env)
}

const NEW_YORK = ['--time-zone', 'America/New_York']

describe('fleetcron next', () => {
  it('prints a table with a remark at a gap', async () => {
    const args = ['next', '30 2 * * *', ...NEW_YORK, '--from', '2026-03-07T12:00', '--count', '2']
    expect(await fleetcron(args)).toEqual({
      code: 0,
      err: '',
      out: [
        'label             local time            offset  UTC                       remark',
        '2026-03-08T02:30  Sun 2026-03-08 03:00  -04:00  2026-03-08T07:00:00.000Z  02:30 does not exist: first instant after the gap',
        '2026-03-09T02:30  Mon 2026-03-09 02:30  -04:00  2026-03-09T06:30:00.000Z',
        '',
      ].join('\n'),
    })
  })

  it.each([
    [
      'two labels that meet',
      ['0,30 2 * * *', ...NEW_YORK, '--from', '2026-03-08T00:00'],
      'after the gap, also for the times to 02:30',
    ],
    [
      'a gap that is skipped',
      ['30 2 * * *', ...NEW_YORK, '--from', '2026-03-08T00:00', '--dst-gap', 'skip'],
      '2026-03-09T06:30:00.000Z  after a gap: 2026-03-08T02:00 to 2026-03-08T03:00 does not exist',
    ],
    [
      'an interval over a gap',
      ['*/30 * * * *', ...NEW_YORK, '--from', '2026-03-08T06:30Z'],
      '2026-03-08T07:00:00.000Z  after a gap',
    ],
    [
      'a fixed time that comes twice',
      ['30 1 * * *', ...NEW_YORK, '--from', '2026-11-01T00:00'],
      '2026-11-01T05:30:00.000Z  first of two passes',
    ],
    [
      'the second pass of an interval',
      ['0 * * * *', ...NEW_YORK, '--from', '2026-11-01T05:00Z'],
      '2026-11-01T06:00:00.000Z  second pass',
    ],
    [
      'a gap that crosses midnight',
      ['45 23 * * *', '-z', 'Asia/Pyongyang', '-f', '2018-05-04T00:00'],
      '2018-05-04T23:45  Sat 2018-05-05 00:00  +09:00  2018-05-04T15:00:00.000Z  23:45 does not exist',
    ],
    [
      'seconds and an odd offset',
      ['7 0 0 * * *', '-z', 'Africa/Monrovia', '-f', '1971-01-01T12:00'],
      '1971-01-02T00:00:07  Sat 1971-01-02 00:00:07  -00:44:30  1971-01-02T00:44:37.000Z',
    ],
  ])('remarks on %s', async (_, args, line) => {
    const { code, out, err } = await fleetcron(['next', ...args, '--count', '1'])
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out.split('\n')[1]).toContain(line)
  })

  it('remarks only on a gap that hides a time of the expression', async () => {
    const { out } = await fleetcron(['next', '0 12 1 * *', ...NEW_YORK, '--from', '2026-02-15T00:00', '--count', '3'])
    expect(out).toContain('2026-04-01T12:00')
    expect(out).not.toContain('gap')
  })

  it('prints an array of UTC instants with --json', async () => {
    const args = ['next', '30 2 * * *', ...NEW_YORK, '--from', '2026-03-08T06:30:00.000Z', '--count', '3', '--json']
    const { code, out, err } = await fleetcron(args)
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toBe('["2026-03-08T07:00:00.000Z","2026-03-09T06:30:00.000Z","2026-03-10T06:30:00.000Z"]\n')
  })

  it('takes the zone of the process, now, and five by default', async () => {
    const before = Date.now()
    const { out } = await fleetcron(['next', '0 * * * * *', '--json'], { TZ: 'Asia/Kathmandu' })
    const instants = (JSON.parse(out) as string[]).map((text) => Date.parse(text))
    expect(instants).toHaveLength(5)
    expect(instants[0]).toBeGreaterThan(before)
    expect(instants[0]).toBeLessThanOrEqual(Date.now() + 60_000)
    const daily = await fleetcron(['next', '0 0 * * *', '--from', '2026-06-01T00:00', '-n', '1', '--json'], {
      TZ: 'Asia/Kathmandu',
    })
    expect(daily.out).toBe('["2026-06-01T18:15:00.000Z"]\n')
  })

  it('gives the same whatever the zone of the host', async () => {
    const args = ['next', '0 0 * * * *', '--time-zone', 'UTC', '--from', '2025-10-04T15:00Z', '--count', '4', '--json']
    const [sydney, utc] = await Promise.all([
      fleetcron(args, { TZ: 'Australia/Sydney' }),
      fleetcron(args, { TZ: 'UTC' }),
    ])
    expect(sydney).toEqual(utc)
    const from = Date.parse('2025-10-04T15:00Z')
    const expected = nextOccurrences('0 0 * * * *', { timeZone: 'UTC', from, count: 4 })
    expect(JSON.parse(sydney.out)).toEqual(expected.map(({ instant }) => new Date(instant).toISOString()))
  })

  it('says so when nothing is left', async () => {
    const args = ['next', '0 0 1 1 *', '--time-zone', 'UTC', '--from', '9999-06-01T00:00Z']
    expect(await fleetcron(args)).toMatchObject({
      code: 0,
      out: "No occurrence of '0 0 1 1 *' in UTC after 9999-06-01T00:00:00.000Z.\n",
    })
    expect(await fleetcron([...args, '--json'])).toMatchObject({ code: 0, out: '[]\n' })
  })
})

describe('bad input', () => {
  it.each([
    [[], 'name a command'],
    [['bill'], "unknown command 'bill'"],
    [['nxt'], 'Did you mean next?'],
    [['bill'], 'fleetcron --help lists the commands'],
    [['--frob'], "unknown option '--frob'"],
    [['next'], "missing required argument 'expression'"],
    [['next', '0', '9', '*', '*', '1'], 'Put the expression in quotes.'],
    [['next', '0 9 * * 1', '--cuont', '3'], "unknown option '--cuont'"],
    [['next', '60 * * * *'], "minutes '60'"],
    [['next', '0 0 30 2 *'], 'no year has a date'],
    [['next', ''], 'it is empty'],
    [['next', '0 9\n* * \u001b[31m'], "'0 9 * * ?[31m'"],
    [['next', '0 9 * * *', '--time-zone', 'Mars/Olympus'], "Time zone 'Mars/Olympus'"],
    [['next', '0 9 * * *', '--time-zone', ''], "Time zone ''"],
    [['next', '0 9 * * *', '--from', 'yesterday'], "--from 'yesterday'"],
    [['next', '0 9 * * *', '--from', '2026-02-30T00:00Z'], "--from '2026-02-30T00:00Z'"],
    [['next', '0 9 * * *', '--from'], 'argument missing'],
    [['next', '0 9 * * *', '--count', '0'], '1 to 1000'],
    [['next', '0 9 * * *', '--count', '1001'], '1 to 1000'],
    [['next', '0 9 * * *', '--count', '1.5'], '1 to 1000'],
    [['next', '0 9 * * *', '--count', '-3'], '1 to 1000'],
    [['next', '0 9 * * *', '--count', 'many'], '1 to 1000'],
    [['next', '0 9 * * *', '--dst-gap', 'both'], 'Allowed choices are next, skip'],
  ])('%j ends with 2, one line on stderr and nothing on stdout: %s', async (args, line) => {
    const { code, out, err } = await fleetcron(args)
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toContain(line)
    expect(err).toMatch(/^fleetcron: [^\n]+\n$/)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that there are none is the point.
    expect(err.trimEnd()).not.toMatch(/[\u0000-\u001f]/)
  })
})

describe('the command', () => {
  it('has a help with an example that is true', async () => {
    const { code, out, err } = await fleetcron(['next', '--help'])
    expect({ code, err }).toEqual({ code: 0, err: '' })
    const example = out.slice(out.indexOf('Example:')).split('\n').slice(1)
    const command = /\$ fleetcron (.+)$/.exec(example[0] ?? '')?.[1] ?? ''
    const args = [...command.matchAll(/'([^']+)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
    const shown = example.slice(1).map((line) => line.slice(2))
    expect((await fleetcron(args)).out.split('\n')).toEqual(shown)
  })

  it('asks for quotes only where an expression is expected', async () => {
    const { code, err } = await fleetcron(['jobs', 'extra'])
    expect({ code, err }).toEqual({
      code: 2,
      err: "fleetcron: too many arguments for 'jobs'. Expected 0 arguments but got 1.\n",
    })
  })

  it('says what it can do, and its version', async () => {
    const help = await fleetcron(['--help'])
    expect(help).toMatchObject({ code: 0, err: '' })
    expect(help.out).toContain('next [options] <expression>')
    const version = await fleetcron(['--version'])
    expect(version.out).toMatch(/^\d+\.\d+\.\d+\n$/)
  })

  it('ends quietly when its reader goes away', async () => {
    const child = command.start(['next', '* * * * * *', '--time-zone', 'UTC', '--count', '1000'])
    const said: string[] = []
    child.stderr.setEncoding('utf8').on('data', (text: string) => said.push(text))
    child.stdout.destroy()
    const [code] = await once(child, 'close')
    expect({ code, said }).toEqual({ code: 0, said: [] })
  })
})

import Database from 'better-sqlite3'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createFleet } from '../src/index.js'
import { createSqliteStore } from '../src/store/sqlite/index.js'
import { begun, commandLineDoor, type Door, nestDoor, Platform } from './platform/platform.js'
import { firesTwiceAndKills } from './platform/suite.js'

const HOUR = 3_600_000
const DAY = 24 * HOUR

const two = (value: number) => String(value).padStart(2, '0')

/** Half an hour ago: minutes and hours of a cron expression, and the label of that moment so many days before. */
function halfAnHourAgo() {
  const at = Math.floor((Date.now() - HOUR / 2) / 60_000) * 60_000
  const label = (days: number) => new Date(at - days * DAY).toISOString().slice(0, 16)
  const moment = new Date(at)
  return { expression: `${moment.getUTCMinutes()} ${two(moment.getUTCHours())}`, label }
}

/** What is told of an occurrence that another process has done, and when to come again. */
function done(key: string): RegExp {
  return new RegExp(`^${key} succeeded at \\S+, \\S+Z\nnothing else is due; next: \\S+:00Z\n$`)
}

/** Defines the two jobs with a time of day, as a node of a while ago did: nobody has looked after them since. */
async function definedAgo(platform: Platform, expression: string, ms: number): Promise<void> {
  const path = platform.ledger.replace('sqlite:', '')
  const store = createSqliteStore({
    path,
    fleet: 'billing',
    now: () => Date.now() - ms,
    driver: (file) => new Database(file),
  })
  const fleet = createFleet({ fleet: 'billing', service: 'billing', store, attends: false, logger: false })
  const daily = { cron: `${expression} * * *`, timeZone: 'UTC' } as const
  fleet.job('daily', daily, () => {})
  fleet.job('reports', { ...daily, catchUp: { policy: 'each', within: '7d' } }, () => {})
  await fleet.start()
  await fleet.stop()
}

const DOORS = [
  ['fleetcron run', commandLineDoor],
  ['runFleetJob', nestDoor],
] as const

for (const [name, makeDoor] of DOORS) {
  firesTwiceAndKills(`a platform that starts ${name} fires`, makeDoor, () => undefined)
}

describe.each(DOORS)('a platform that starts %s fires', (_, makeDoor) => {
  let door: Door
  let platform: Platform
  beforeAll(async () => {
    door = await makeDoor()
  })
  afterAll(() => door.command.remove())
  afterEach(() => platform.remove())

  it('late, and again: what was missed is caught up once', async () => {
    const { expression, label } = halfAnHourAgo()
    platform = new Platform(door, undefined, { DAILY: expression })
    await definedAgo(platform, expression, HOUR)
    const late = await platform.fired('daily')
    expect(late).toMatchObject({
      code: 0,
      runs: [{ key: label(0), cause: 'catch-up', state: 'succeeded', attempt: 1 }],
    })
    const again = await platform.fire('daily')
    expect(again).toMatchObject({ code: 0, out: expect.stringMatching(done(label(0))) })
    expect(platform.worked()).toEqual([label(0)])
  })

  it('not at all for days: the next time does what the policy says of each of them', async () => {
    const { expression, label } = halfAnHourAgo()
    platform = new Platform(door, undefined, { DAILY: expression })
    await definedAgo(platform, expression, 2 * DAY + HOUR)
    const { code, runs } = await platform.fired('reports')
    expect(code).toBe(0)
    expect(runs.map(({ key }) => key).sort()).toEqual([label(2), label(1), label(0)])
    expect(runs.every(({ state }) => state === 'succeeded')).toBe(true)
    expect(platform.worked().sort()).toEqual([label(2), label(1), label(0)])
  })

  it('and tells the process to end: its handler may', async () => {
    platform = new Platform(door)
    const started = platform.start('long')
    await begun(started)
    started.child.kill('SIGTERM')
    const { code, out } = await started.ended
    const key = platform.worked()[0]?.replace('begun ', '') ?? ''
    expect({ code, out }).toEqual({ code: 0, out: `begun\n${key} succeeded\n` })
    const where = ['--store', platform.ledger, '--fleet', 'billing', '--json']
    const kept = await door.command.run(['run-info', 'long', key, ...where])
    expect(JSON.parse(kept.out)).toMatchObject({ state: 'succeeded', result: 'ended in good order' })
  })

  it.each([
    ['of a job that fails: 1', ['fails'], 1, / failed: no rates\n$/],
    ['when nothing is due: the next instant, and 0', ['rare'], 0, /^nothing is due; next: \d{4}-01-01T00:00:00Z\n$/],
    [
      'of a job that is named in full: the same',
      ['billing:rare'],
      0,
      /^nothing is due; next: \d{4}-01-01T00:00:00Z\n$/,
    ],
    ['an occurrence that is far off: 0', ['rare', '--occurrence', '2099-01-01T00:00'], 0, /^nothing is due; next: /],
  ])('%s', async (__, [job = '', ...more], code, said) => {
    platform = new Platform(door)
    expect(await platform.fire(job, ...more)).toMatchObject({ code, out: expect.stringMatching(said) })
  })

  it.each([
    [['nobody'], 2, "Job 'nobody' is not one that the application hosts"],
    [['off'], 2, "Job 'off' is not one that the application hosts: look at its name, and at `disabled`."],
    [['oftn'], 2, "Job 'oftn' is not one that the application hosts: did you mean 'often'?"],
    [['stock:often'], 2, "Job 'stock:often' is not one that the application hosts: did you mean 'often'?"],
    [['rare', '--occurrence', '2026-02-02T00:00'], 2, "Job 'rare' has no occurrence '2026-02-02T00:00'"],
    [['often', '--early', 'soon'], 2, 'is not a duration'],
    [['often', '--early', '5'], 2, "--early: '5' has no unit: write it with a unit, such as 5s."],
    [['often', '--patience', '60d'], 2, "--patience: '60d' is out of range: write 0s to 24d."],
    [['often', '--erly', '1s'], 2, "'--erly'"],
  ])('%j ends with %i', async ([job = '', ...more], code, message) => {
    platform = new Platform(door)
    const fired = await platform.fire(job, ...more)
    expect(fired).toMatchObject({ code, out: '' })
    expect(fired.err).toContain(message)
  })

  it('while the store is away: 75, after so long', async () => {
    platform = new Platform(door, 'postgres://app:hunter2@127.0.0.1:1/app')
    const { code, out, err } = await platform.fire('often', '--patience', '200ms')
    expect({ code, out }).toEqual({ code: 75, out: '' })
    expect(err).toContain('fleetcron: The store could not be reached within 0.2 s: nothing was run.\n')
    expect(err).not.toContain('hunter2')
  })
})

describe('an application that a platform starts', () => {
  let doors: Door[]
  let platform: Platform | null = null
  beforeAll(async () => {
    doors = [await commandLineDoor(), await nestDoor()]
  })
  afterAll(() => {
    for (const { command } of doors) command.remove()
  })
  afterEach(async () => {
    await platform?.remove()
    platform = null
  })

  it('is told by its exit code that it could not end in time, and the next start does the work at once', async () => {
    platform = new Platform(doors[0] as Door)
    const started = platform.start('deadly', '--grace', '100ms')
    await begun(started)
    started.child.kill('SIGTERM')
    const { code, out, err } = await started.ended
    expect({ code, out }).toEqual({ code: 75, out: 'begun\n' })
    expect(err).toContain("Job 'deadly': this process was asked to stop before the run had ended")
    const key = platform.worked()[0]?.replace('begun ', '')
    const { code: again, runs } = await platform.fired('deadly', '--early', '0s')
    expect(again).toBe(0)
    expect(runs).toContainEqual(expect.objectContaining({ key, state: 'succeeded', attempt: 2 }))
  })

  it('is told before it begins that its grace is out of range, and what the help shows is accepted', async () => {
    platform = new Platform(doors[0] as Door)
    const { code, out, err } = await platform.fire('often', '--grace', '400d')
    expect({ code, out, err }).toEqual({
      code: 2,
      out: '',
      err: "fleetcron: --grace: '400d' is out of range: write 0s to 366d.\n",
    })
    expect(platform.worked()).toEqual([])
    const help = await platform.fire('--help')
    const defaults = [...help.out.matchAll(/(--\w+) <duration>[^-]*\(default:\s+(\w+)\)/g)]
    const words = defaults.flatMap(([, option = '', text = '']) => [option, text])
    expect(words.filter((word) => word.startsWith('--'))).toEqual(['--early', '--patience', '--grace'])
    expect((await platform.fire('rare', ...words)).code).toBe(0)
  })

  it('is refused by the command line where its module is missing, or is one of NestJS', async () => {
    const [{ command }, nest] = doors as [Door, Door]
    const missing = await command.run(['run', 'often', '--app', 'missing.js'])
    expect(missing).toMatchObject({ code: 2, out: '' })
    expect(missing.err).toContain('The module missing.js cannot be loaded')
    const [script = ''] = nest.words('often', [])
    const foreign = await command.run(['run', 'often', '--app', script], { ONLY_EXPORT: 'yes', LEDGER: 'memory:' })
    expect(foreign).toMatchObject({ code: 2, out: '' })
    expect(foreign.err).toContain('runFleetJob(AppModule, process.argv.slice(2)) of fleetcron/nest')
  })

  it.each([
    ['has no FleetModule', 'module', 'The application imports no FleetModule'],
    ['is in local mode', 'fleet', 'The application names no fleet'],
  ])('is refused by runFleetJob where it %s', async (_, WITHOUT, message) => {
    platform = new Platform(doors[1] as Door, undefined, { WITHOUT, SAY_CLOSED: 'yes' })
    const fired = await platform.fire('often')
    expect(fired).toMatchObject({ code: 2, out: '' })
    expect(fired.err).toContain(message)
    expect(platform.worked()).toEqual([])
  })

  it.each(['--help', '-h'])('tells by runFleetJob how to be started: %s', async (word) => {
    platform = new Platform(doors[1] as Door)
    const { code, out } = await platform.fire('rare', word)
    expect(code).toBe(0)
    expect(out).toMatch(/^usage: node <script> <job> \[--occurrence <label>\] .*\[--json\]\n$/)
    expect(platform.worked()).toEqual([])
  })

  it('is closed by runFleetJob when the job has ended', async () => {
    platform = new Platform(doors[1] as Door, undefined, { SAY_CLOSED: 'yes' })
    const fired = await platform.fire('rare')
    expect(fired.code).toBe(0)
    expect(fired.err).toMatch(/closed\n$/)
    expect(platform.worked()).toEqual([])
  })
})

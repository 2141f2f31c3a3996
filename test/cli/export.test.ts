import { dirname, join } from 'node:path'
import { build } from 'esbuild'
import fc from 'fast-check'
import { CronJob, type ICronJob } from 'kubernetes-models/batch/v1/CronJob'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { parseAllDocuments, parse as parseYaml } from 'yaml'
import { kubernetesFields } from '../../src/cli/kubernetes/fields.js'
import { kubernetesName } from '../../src/cli/kubernetes/names.js'
import { timingOf } from '../../src/cli/kubernetes/schedule.js'
import { yaml } from '../../src/cli/kubernetes/yaml.js'
import type { Definition, StoredDefinition } from '../../src/ledger/types.js'
import { parseSchedule, scheduleSpec } from '../../src/schedule/index.js'
import { stored as buildStored } from '../../src/testing/store/builders.js'
import { CommandLine } from './command.js'
import { FLEET, PreparedLedger } from './ledger.js'
import { robfig } from './robfig.js'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

interface Manifest {
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly annotations: Record<string, string>
  }
  readonly spec: {
    readonly schedule: string
    readonly timeZone: string
    readonly concurrencyPolicy: string
    readonly startingDeadlineSeconds: number
    readonly suspend: boolean
    readonly jobTemplate: {
      readonly spec: { readonly template: { readonly spec: { readonly containers: Container[] } } }
    }
  }
}
interface Container {
  readonly image: string
  readonly command: readonly string[]
  readonly envFrom?: readonly object[]
}

let command: CommandLine
let app = ''
let ledger: PreparedLedger

beforeAll(async () => {
  command = await CommandLine.build()
  app = join(dirname(command.script), 'app.js')
  await build({
    entryPoints: [join(import.meta.dirname, '../platform/export-app.ts')],
    outfile: app,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
  })
})
afterAll(() => command.remove())
beforeEach(async () => {
  ledger = await PreparedLedger.make(Date.now())
})
afterEach(() => ledger.remove())

async function exported(...args: string[]) {
  const where = args.includes('--app') ? [] : ['--app', app]
  const { code, out, err } = await command.run(['export', 'kubernetes', '--image', 'billing:7', ...where, ...args])
  const manifests = parseAllDocuments(out).map((document) => document.toJS() as Manifest)
  const byJob = new Map(manifests.map((each) => [each.metadata.annotations['fleetcron/job'] ?? '', each]))
  return { code, err, manifests, of: (name: string) => byJob.get(`billing:${name}`) as Manifest }
}

const containerOf = ({ spec }: Manifest) => spec.jobTemplate.spec.template.spec.containers[0] as Container

describe('fleetcron export kubernetes', () => {
  it('prints a CronJob for each schedule, which the published schema of the kind takes', async () => {
    const { code, err, manifests, of } = await exported(
      '--namespace',
      'jobs',
      '--env-from',
      'secret/app',
      '--env-from',
      'configmap/zone',
    )
    expect(code).toBe(1)
    expect(manifests.length).toBeGreaterThan(5)
    for (const manifest of manifests) expect(() => new CronJob(manifest as never).validate()).not.toThrow()
    // Its type knows each field of the kind, the schema only what may stand in it.
    const expected: ICronJob = {
      apiVersion: 'batch/v1',
      kind: 'CronJob',
      metadata: {
        name: 'daily-invoices',
        namespace: 'jobs',
        labels: { 'app.kubernetes.io/managed-by': 'fleetcron', 'app.kubernetes.io/part-of': 'billing-production' },
        annotations: { 'fleetcron/fleet': 'billing (production)', 'fleetcron/job': 'billing:daily-invoices' },
      },
      spec: {
        schedule: '0 0 * * *',
        timeZone: 'Europe/Helsinki',
        concurrencyPolicy: 'Forbid',
        startingDeadlineSeconds: DAY / 1_000,
        suspend: false,
        successfulJobsHistoryLimit: 3,
        failedJobsHistoryLimit: 3,
        jobTemplate: {
          spec: {
            backoffLimit: 0,
            template: {
              metadata: {
                labels: {
                  'app.kubernetes.io/managed-by': 'fleetcron',
                  'app.kubernetes.io/part-of': 'billing-production',
                },
              },
              spec: {
                restartPolicy: 'Never',
                terminationGracePeriodSeconds: 45,
                containers: [
                  {
                    name: 'job',
                    image: 'billing:7',
                    command: [
                      'npx',
                      'fleetcron',
                      'run',
                      'daily-invoices',
                      '--app',
                      app,
                      '--grace',
                      '30s',
                      '--early',
                      '60s',
                    ],
                    envFrom: [{ secretRef: { name: 'app' } }, { configMapRef: { name: 'zone' } }],
                  },
                ],
              },
            },
          },
        },
      },
    }
    expect(of('daily-invoices')).toEqual(expected)
    expect(() => new CronJob({ ...expected, spec: { ...expected.spec, suspend: 'no' } } as never).validate()).toThrow()
    expect(err.split('\n').slice(0, -1).sort()).toEqual([
      "fleetcron: Job 'billing:by-hand': it runs on request, and has no schedule to export.",
      "fleetcron: Job 'billing:counted': not exported: its period counts from its first definition, which the ledger knows: name it with --store and --fleet.",
      "fleetcron: Job 'billing:half-hours-east': not exported: Kubernetes knows no fixed offset such as +05:30: name a zone, such as Asia/Kolkata.",
      "fleetcron: Job 'billing:last-day': not exported: Kubernetes does not know 'L' for its day of month.",
      "fleetcron: Job 'billing:once': not exported: it is due at one moment, and a CronJob repeats.",
      expect.stringMatching(
        /^fleetcron: Job 'billing:spring': Kubernetes does not start it for \d{4}-\d\d-\d\dT02:30, which the clocks of America\/New_York leave out: a node does that occurrence, or the next start catches it up\.$/,
      ),
      "fleetcron: Job 'billing:ticks': not exported: it has the seconds '*/10', and Kubernetes knows minutes.",
    ])
  })

  it('leaves to the ledger what overlaps, and starts as late as the ledger still works', async () => {
    const { of } = await exported()
    expect(of('minutely').spec).toMatchObject({ concurrencyPolicy: 'Forbid', startingDeadlineSeconds: 3_600 })
    expect(of('waits').spec).toMatchObject({ concurrencyPolicy: 'Allow', startingDeadlineSeconds: 604_800 })
    expect(of('two-at-a-time').spec).toMatchObject({ concurrencyPolicy: 'Allow' })
    expect(of('never-late').spec).toMatchObject({ startingDeadlineSeconds: 300 })
    expect(of('off').spec).toMatchObject({ suspend: true })
    expect(of('east').spec).toMatchObject({ timeZone: 'Etc/GMT-2' })
  })

  it('names one job, and what is started in place of fleetcron run', async () => {
    const { code, manifests } = await exported(
      '--job',
      'minutely',
      '--command',
      'node dist/job.js',
      '--early',
      '2m',
      '--grace',
      '5m',
    )
    expect({ code, names: manifests.map(({ metadata }) => metadata.name) }).toEqual({ code: 0, names: ['minutely'] })
    expect(manifests.map(containerOf)).toEqual([
      { name: 'job', image: 'billing:7', command: ['node', 'dist/job.js', 'minutely', '--early', '2m'] },
    ])
    expect(manifests[0]).toMatchObject({
      spec: { jobTemplate: { spec: { template: { spec: { terminationGracePeriodSeconds: 315 } } } } },
    })
  })

  it('prints a list as JSON', async () => {
    const { code, out } = await command.run([
      'export',
      'kubernetes',
      '--app',
      app,
      '--image',
      'i',
      '--job',
      'daily-invoices',
      '--json',
    ])
    expect(code).toBe(0)
    const list = JSON.parse(out)
    expect(list).toMatchObject({ apiVersion: 'v1', kind: 'List', items: [{ kind: 'CronJob' }] })
    expect(() => new CronJob(list.items[0]).validate()).not.toThrow()
  })

  it('asks the ledger since when a period counts, and what is paused', async () => {
    const anchor = Date.parse('2026-11-29T12:03:20Z')
    const every = { schedule: { every: 15 * MINUTE } }
    const where = ['--store', ledger.url, '--fleet', FLEET]
    await ledger.job('billing:counted', { head: { anchor }, definition: stored(every) })
    await ledger.job('billing:paused', {
      head: { pause: { since: ledger.now, until: null, by: 'ada', why: null } },
      definition: stored({ schedule: { cron: '0 1 * * *', timeZone: 'UTC', dstGap: 'next' } }),
    })
    await ledger.job('billing:kept', { definition: stored({ handler: 'digest' }) })
    await ledger.job('billing:gone', { head: { retired: true } })
    const args = ['export', 'kubernetes', ...where, '--image', 'i', '--command', 'node job.js', '--json']
    const { code, out, err } = await command.run(args)
    expect({ code, err }).toEqual({ code: 0, err: '' })
    const items = JSON.parse(out).items as Manifest[]
    expect(items.map(({ metadata, spec }) => [metadata.name, spec.schedule, spec.timeZone, spec.suspend])).toEqual([
      ['counted', '3,18,33,48 * * * *', 'Etc/UTC', false],
      ['paused', '0 1 * * *', 'Etc/UTC', true],
    ])
    expect(items.map((item) => containerOf(item).command)).toEqual([
      ['node', 'job.js', 'counted', '--early', '60s'],
      ['node', 'job.js', 'paused', '--early', '60s'],
    ])
    const both = await exported('--job', 'counted', ...where)
    expect(both.of('counted').spec.schedule).toBe('3,18,33,48 * * * *')
    await ledger.job('stock:counted', { head: { anchor }, definition: stored(every) })
    const two = JSON.parse((await command.run(args)).out).items as Manifest[]
    expect(two.map(({ metadata }) => metadata.name)).toEqual(['billing-counted', 'billing-paused', 'stock-counted'])
  })

  it.each([
    [['--job', 'once'], 'No schedule could be exported'],
    [['--job', 'nobody'], "There is no job 'nobody' to export"],
    [['--env-from', 'app'], "--env-from 'app' is not understood"],
    [['--early', 'soon'], 'is not a duration'],
    [['--app', 'missing.js'], 'The module missing.js cannot be loaded'],
  ])('%j ends with 2 and prints nothing', async (args, message) => {
    const { code, err, manifests } = await exported(...args)
    expect({ code, manifests }).toEqual({ code: 2, manifests: [] })
    expect(err).toContain(message)
  })

  it.each([
    [['kubernetes'], "required option '--image <image>' not specified"],
    [['kubernetes', '--image', 'i'], 'What does the container start?'],
    [['nomad', '--image', 'i'], 'Allowed choices are kubernetes'],
  ])('export %j ends with 2', async (args, message) => {
    const { code, out, err } = await command.run(['export', ...args])
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toContain(message)
  })
})

function stored(over: Partial<Definition>): StoredDefinition {
  const base = buildStored()
  return { ...base, content: { ...base.content, ...over } }
}

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

import { dirname, join } from 'node:path'
import { build } from 'esbuild'
import { CronJob, type ICronJob } from 'kubernetes-models/batch/v1/CronJob'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import type { Definition, StoredDefinition } from '../../src/ledger/types.js'
import { stored as buildStored } from '../../src/testing/store/builders.js'
import { CommandLine } from './command.js'
import { FLEET, PreparedLedger } from './ledger.js'

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
    const cron = stored({ schedule: { cron: '0 1 * * *', timeZone: 'UTC', dstGap: 'next' } })
    await ledger.job('stock:take-it', { definition: cron })
    await ledger.job('stock-take:it', { definition: cron })
    const three = JSON.parse((await command.run(args)).out).items as Manifest[]
    expect(new Set(three.map(({ metadata }) => metadata.name)).size).toBe(5)
  })

  it.each([
    [['--job', 'once'], 'No schedule could be exported'],
    [['--job', 'nobody'], "There is no job 'nobody' to export"],
    [['--env-from', 'app'], "--env-from 'app' is not understood"],
    [['--early', 'soon'], 'is not a duration'],
    [['--grace', '99999999d'], "--grace: '99999999d' is out of range: write 0s to 366d."],
    [['--namespace', 'Our Jobs'], "--namespace 'Our Jobs' is none that Kubernetes knows"],
    [['--image', ''], '--image is empty: name the image as in registry.example/billing:7.'],
    [['--image', 'billing:7 '], "--image 'billing:7 ' has white space in it"],
    [['--image', 'billing\n:7'], "--image 'billing :7' has white space in it"],
    [['--command', ' '], '--command is empty'],
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

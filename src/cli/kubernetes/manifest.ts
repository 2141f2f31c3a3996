import type { Definition } from '../../ledger/types.js'
import { parseSchedule } from '../../schedule/index.js'
import { kubernetesName, labelValue } from './names.js'
import type { Anchor } from './schedule.js'
import type { Plain } from './yaml.js'

/** A job to be exported. */
export interface ExportedJob {
  /** `service:id`. */
  readonly job: string
  readonly name: string
  /** What the CronJob is called after. */
  readonly called: string
  readonly definition: Definition
  readonly anchor: Anchor
  readonly isSuspended: boolean
}

/** What is the same for all of them. */
export interface Surroundings {
  readonly fleet: string
  readonly image: string
  readonly namespace: string | null
  /** What starts the process, up to the job's name, and what stands behind it. */
  readonly command: readonly string[]
  readonly words: readonly string[]
  readonly envFrom: readonly EnvSource[]
  /** How long a handler may go on after SIGTERM. */
  readonly graceMs: number
}

export interface EnvSource {
  readonly kind: 'secret' | 'configMap'
  readonly name: string
}

const SECOND = 1_000
const HOUR = 3_600_000
const DAY = 24 * HOUR

/** A handler that was asked to stop is settled or handed back after its grace, and the session ended: that takes seconds. */
const HAND_BACK_MS = 15 * SECOND

/** A CronJob (batch/v1) that starts the job's process; the ledger decides what is run. */
export function cronJob(
  { job, name, called, definition, isSuspended }: ExportedJob,
  timing: { readonly schedule: string; readonly timeZone: string },
  around: Surroundings,
  now: number,
): Plain {
  const labels = { 'app.kubernetes.io/managed-by': 'fleetcron', 'app.kubernetes.io/part-of': labelValue(around.fleet) }
  const { namespace, command, words, image, envFrom, graceMs } = around
  const container = {
    name: 'job',
    image,
    command: [...command, name, ...words],
    ...(envFrom.length === 0 ? {} : { envFrom: envFrom.map(({ kind, name }) => ({ [`${kind}Ref`]: { name } })) }),
  }
  return {
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    metadata: {
      name: kubernetesName(called, job),
      ...(namespace === null ? {} : { namespace }),
      labels,
      annotations: { 'fleetcron/fleet': around.fleet, 'fleetcron/job': job },
    },
    spec: {
      schedule: timing.schedule,
      timeZone: timing.timeZone,
      concurrencyPolicy: policyOf(definition),
      startingDeadlineSeconds: deadlineSeconds(definition, now),
      suspend: isSuspended,
      successfulJobsHistoryLimit: 3,
      failedJobsHistoryLimit: 3,
      jobTemplate: {
        spec: {
          // Retries and recovery are the ledger's, with their own limits.
          backoffLimit: 0,
          template: {
            metadata: { labels },
            spec: {
              restartPolicy: 'Never',
              terminationGracePeriodSeconds: Math.ceil((graceMs + HAND_BACK_MS) / SECOND),
              containers: [container],
            },
          },
        },
      },
    },
  }
}

/**
 * The ledger decides overlaps. `Forbid` where it would skip what comes while the job runs: the process that works decides
 * those occurrences, and another one would only wait beside it. `Allow` where the next occurrence waits, is merged, replaces, or
 * has a place of its own: somebody has to come for it.
 */
function policyOf({ overlap, concurrency }: Definition): 'Allow' | 'Forbid' {
  return overlap === 'skip' && concurrency === 1 ? 'Forbid' : 'Allow'
}

/** Kubernetes gives up on a job of which it has missed more than 100 starts within this time. */
const MOST_STARTS = 80

/** As late as the ledger still does the work. */
function deadlineSeconds({ schedule, catchUp, graceMs }: Definition, now: number): number {
  const periodMs = shortestPeriodMs(schedule, now)
  const usual = Math.min(Math.max(periodMs, HOUR), 7 * DAY)
  const withinMs = catchUp.policy === 'skip' ? graceMs : (catchUp.withinMs ?? usual)
  // Below ten seconds its controller may not look in time.
  return Math.round(Math.max(60 * SECOND, Math.min(withinMs, MOST_STARTS * periodMs)) / SECOND)
}

function shortestPeriodMs(spec: Definition['schedule'], now: number): number {
  if (spec === null) return DAY
  if ('every' in spec) return spec.every
  const schedule = parseSchedule(spec, { anchor: 0 })
  const instants = schedule.between(schedule.cursorAt(now), now + 400 * DAY, 100).map(({ instant }) => instant)
  const gaps = instants.slice(1).map((instant, index) => instant - (instants[index] ?? instant))
  return gaps.length === 0 ? 366 * DAY : Math.min(...gaps)
}

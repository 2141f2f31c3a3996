import { CronJob } from 'cron'
import { expect, vi } from 'vitest'
import type { Case } from './cases.js'
import { type Play, START } from './stage.js'

const NULL_PROTOTYPE = { provide: 'NULL_PROTOTYPE', useValue: Object.create(null) }

function leaveOnly(play: Play, name: string): void {
  for (const key of [...play.registry.getCronJobs().keys()]) if (key !== name) play.registry.deleteCronJob(key)
}

/** A job that stops itself after `calls` calls, one each `everyMs`. */
function stopsItself(name: string, everyMs: number, calls: number): Case[1] {
  return async ({ compose, services: { CronService } }) => {
    const play = await compose([CronService])
    await play.init()
    const job = play.registry.getCronJob(name)
    leaveOnly(play, name)
    expect(job.isActive).toBe(true)
    expect(play.get(CronService).calls).toBe(0)
    await play.pass(everyMs * calls)
    expect(play.get(CronService).calls).toBe(calls)
    expect(job.lastDate()).toEqual(new Date(START + everyMs * calls))
    await play.pass(everyMs + 1_000)
    expect(play.get(CronService).calls).toBe(calls)
    expect(job.isActive).toBe(false)
  }
}

const slow: Case[1] = async ({ compose, services: { CronService } }) => {
  const play = await compose([CronService])
  await play.init()
  const service = play.get(CronService)
  const job = play.registry.getCronJob('slow')
  leaveOnly(play, 'slow')
  const seen: [number, number][] = []
  for (let minute = 1; minute <= 6; minute += 1) {
    await play.pass(60_000)
    seen.push([service.calls, service.finished])
    expect(job.lastDate()).toEqual(new Date(START + minute * 60_000))
  }
  expect(seen).toEqual([
    [1, 0],
    [1, 0],
    [2, 1],
    [2, 1],
    [3, 2],
    [3, 2],
  ])
  await play.pass(1_000)
  expect([service.calls, service.finished, job.isActive]).toEqual([3, 3, false])
}

const dynamic: Case[1] = async ({ compose, services: { CronService } }) => {
  const play = await compose([CronService])
  await play.init()
  const added = play.get(CronService).add()
  expect(play.registry.getCronJobs().get('dynamic')).toBe(added)
  expect(added.isActive).toBe(false)
  added.start()
  expect(added.isActive).toBe(true)
  await play.pass(3_000)
  expect(play.get(CronService).dynamic).toBe(3)
}

const throws: Case[1] = async ({ compose, door, services: { CronService } }) => {
  const play = await compose([CronService])
  await play.init()
  const errorHandler = vi.fn()
  const onTick = () => {
    throw new Error('a tick that throws')
  }
  const job = CronJob.from({ cronTime: door.CronExpression.EVERY_SECOND, onTick, errorHandler })
  play.registry.addCronJob('throws', job as never)
  job.start()
  await play.pass(1_000)
  expect(errorHandler).toHaveBeenCalledWith(new Error('a tick that throws'))
}

/** The cases about `initialDelay`. */
const delays: readonly Case[] = [
  [
    'cron: does not tick before its initial delay is over',
    async ({ compose, services: { CronService } }) => {
      const play = await compose([CronService])
      await play.init()
      leaveOnly(play, 'delayed')
      await play.pass(4_999)
      expect(play.get(CronService).delayed).toBe(0)
      await play.pass(1_001)
      expect(play.get(CronService).delayed).toBe(1)
    },
  ],
  [
    'cron: keeps its schedule after its initial delay',
    async ({ compose, services: { CronService } }) => {
      const play = await compose([CronService])
      await play.init()
      leaveOnly(play, 'delayed')
      await play.pass(8_000)
      expect(play.get(CronService).delayed).toBe(3)
    },
  ],
  [
    'cron: stays off when it is disabled and delayed',
    async ({ compose, services: { CronService } }) => {
      const play = await compose([CronService])
      await play.init()
      expect(play.registry.getCronJob('off-and-delayed').isActive).toBe(false)
      await play.pass(5_000)
      expect(play.get(CronService).delayed).toBe(0)
      expect(play.registry.getCronJob('off-and-delayed').isActive).toBe(false)
    },
  ],
  [
    'cron: does not start after the application was closed during its initial delay',
    async ({ compose, services: { CronService } }) => {
      const play = await compose([CronService])
      await play.init()
      await play.pass(2_000)
      await play.close()
      await play.pass(5_000)
      expect(play.get(CronService).delayed).toBe(0)
    },
  ],
  [
    'cron: a deleted job does not come back when its delay is over and its name is used anew',
    async ({ compose, door, services: { CronService } }) => {
      const play = await compose([CronService])
      await play.init()
      play.registry.deleteCronJob('delayed')
      let ticks = 0
      const job = CronJob.from({ cronTime: door.CronExpression.EVERY_SECOND, onTick: () => void ticks++ })
      play.registry.addCronJob('delayed', job as never)
      job.start()
      await play.pass(7_000)
      expect(ticks).toBe(7)
      expect(play.get(CronService).delayed).toBe(0)
    },
  ],
]

export const cronCases: readonly Case[] = [
  [
    'cron: ticks every second',
    async ({ compose, services: { CronService } }) => {
      const play = await compose([CronService])
      expect(play.get(CronService).calls).toBe(0)
      await play.init()
      await play.pass(3_000)
      expect(play.get(CronService).calls).toBe(3)
    },
  ],
  ['cron: gives what a dynamic job throws to its error handler', throws],
  ['cron: runs once after 30 seconds and stops itself', stopsItself('half-minute', 30_000, 1)],
  ['cron: waits for completion', slow],
  ['cron: runs three times, once a minute, and stops itself', stopsItself('minute', 60_000, 3)],
  ['cron: runs three times, once an hour, and stops itself', stopsItself('hour', 3_600_000, 3)],
  [
    'cron: a disabled job is not active',
    async ({ compose, services: { CronService } }) => {
      const play = await compose([CronService])
      await play.init()
      expect(play.registry.getCronJob('off').isActive).toBe(false)
    },
  ],
  [
    'cron: is found in the registry by its name',
    async ({ compose, services: { CronService } }) => {
      const play = await compose([CronService])
      await play.init()
      expect(play.registry.getCronJob('second')).toBeInstanceOf(CronJob)
    },
  ],
  [
    'cron: a dynamic job is found in the registry',
    async ({ compose, services: { CronService } }) => {
      const play = await compose([CronService])
      await play.init()
      play.get(CronService).add()
      expect(play.registry.getCronJob('dynamic')).toBeInstanceOf(CronJob)
    },
  ],
  ['cron: a dynamic job starts when it is told to', dynamic],
  [
    'cron: a dynamic job is deleted',
    async ({ compose, services: { CronService } }) => {
      const play = await compose([CronService])
      await play.init()
      play.get(CronService).add()
      play.registry.deleteCronJob('dynamic')
      expect(() => play.registry.getCronJob('dynamic')).toThrow('No Cron Job was found with the given name (dynamic)')
    },
  ],
  [
    'cron: a provider without a prototype does no harm',
    async ({ compose, services: { CronService } }) => {
      const play = await compose([CronService, NULL_PROTOTYPE])
      await play.init()
      expect(play.registry.doesExist('cron', 'second')).toBe(true)
    },
  ],
  [
    'cron: closing the application leaves no job and no timer behind',
    async ({ compose, services: { CronService } }) => {
      const play = await compose([CronService])
      await play.init()
      play.get(CronService).add()
      await play.close()
      expect(play.registry.getCronJobs().size).toBe(0)
      expect(vi.getTimerCount()).toBe(0)
    },
  ],
  [
    'cron: doesExist knows a dynamic job',
    async ({ compose, services: { CronService } }) => {
      const play = await compose([CronService])
      await play.init()
      play.get(CronService).add()
      expect(play.get(CronService).has('dynamic')).toBe(true)
    },
  ],
  [
    'cron: doesExist does not know a job that nobody added',
    async ({ compose, services: { CronService } }) => {
      const play = await compose([CronService])
      await play.init()
      expect(play.get(CronService).has('dynamic')).toBe(false)
    },
  ],
  ...delays,
  [
    'cron: a provider of the application warns of nothing',
    async ({ compose, services: { CronService } }) => {
      const play = await compose([CronService])
      await play.init()
      expect(play.warnings).toEqual([])
    },
  ],
  [
    'cron: a request-scoped provider is left out with a warning',
    async ({ compose, services: { ScopedCron } }) => {
      const play = await compose([ScopedCron])
      await play.init()
      expect(play.registry.getCronJobs().size).toBe(0)
      const line = 'Cannot register cron job "ScopedCron@handle" because it is defined in a non static provider.'
      expect(play.warnings).toContainEqual([line, 'Scheduler'])
    },
  ],
]

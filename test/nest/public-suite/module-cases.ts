import { Injectable, Module } from '@nestjs/common'
import { expect } from 'vitest'
import type { Case } from './cases.js'

@Injectable()
class WithoutCron {
  createScheduleOptions() {
    return { cronJobs: false }
  }
}

@Module({ providers: [WithoutCron], exports: [WithoutCron] })
class Configuration {}

export const moduleCases: readonly Case[] = [
  [
    'options: a factory turns cron jobs off',
    async ({ compose, services: { CronService } }) => {
      const play = await compose([CronService], { async: { useFactory: () => ({ cronJobs: false }) } })
      await play.init()
      expect(play.registry.doesExist('cron', 'second')).toBe(false)
    },
  ],
  [
    'options: a factory that says nothing leaves cron jobs on',
    async ({ compose, services: { CronService } }) => {
      const play = await compose([CronService], { async: { useFactory: () => ({}) } })
      await play.init()
      expect(play.registry.doesExist('cron', 'second')).toBe(true)
    },
  ],
  [
    'options: a class turns cron jobs off',
    async ({ compose, services: { CronService } }) => {
      const play = await compose([CronService], { async: { useClass: WithoutCron } })
      await play.init()
      expect(play.registry.doesExist('cron', 'second')).toBe(false)
    },
  ],
  [
    'options: a class that is there already turns cron jobs off',
    async ({ compose, services: { CronService } }) => {
      const play = await compose([CronService], { async: { imports: [Configuration], useExisting: WithoutCron } })
      await play.init()
      expect(play.registry.doesExist('cron', 'second')).toBe(false)
    },
  ],
  [
    'options: cron jobs are off',
    async ({ compose, services: { CronService } }) => {
      const play = await compose([CronService], { cronJobs: false })
      await play.init()
      expect(play.registry.getCronJobs().size).toBe(0)
    },
  ],
  [
    'options: intervals are off',
    async ({ compose, services: { IntervalService } }) => {
      const play = await compose([IntervalService], { intervals: false })
      await play.init()
      expect(play.registry.getIntervals()).toEqual([])
    },
  ],
  [
    'options: timeouts are off',
    async ({ compose, services: { TimeoutService } }) => {
      const play = await compose([TimeoutService], { timeouts: false })
      await play.init()
      expect(play.registry.getTimeouts()).toEqual([])
    },
  ],
]

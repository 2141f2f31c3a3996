import { Inject, Injectable, Scope } from '@nestjs/common'
import type { SchedulerRegistry } from '@nestjs/schedule'
import { CronJob } from 'cron'
import type { Door } from './door.js'

/** How long the slow job takes: longer than its period. */
const SLOW_MS = 61_000
const PERIOD_MS = 2_500

/** The applications that the cases are about: jobs that count, and that stop themselves through the registry. */
export function servicesOf(door: Door) {
  return { CronService: cronService(door), ...timerServices(door), ...perRequest(door), Throwing: throwing(door) }
}

function cronService({ Cron, CronExpression, SchedulerRegistry: Registry }: Door) {
  const UTC = { utcOffset: 0 }
  @Injectable()
  class CronService {
    calls = 0
    finished = 0
    delayed = 0
    dynamic = 0
    constructor(@Inject(Registry) readonly registry: SchedulerRegistry) {}

    countUpTo(most: number, name: string) {
      this.calls += 1
      if (this.calls >= most) this.registry.getCronJob(name).stop()
    }
    @Cron(CronExpression.EVERY_SECOND, { name: 'second', ...UTC })
    second() {
      this.countUpTo(3, 'second')
    }
    @Cron(CronExpression.EVERY_30_SECONDS, { name: 'half-minute', ...UTC })
    halfMinute() {
      this.countUpTo(1, 'half-minute')
    }
    @Cron(CronExpression.EVERY_MINUTE, { name: 'minute', ...UTC })
    minute() {
      this.countUpTo(3, 'minute')
    }
    @Cron(CronExpression.EVERY_HOUR, { name: 'hour', ...UTC })
    hour() {
      this.countUpTo(3, 'hour')
    }
    @Cron(CronExpression.EVERY_30_SECONDS, { name: 'off', disabled: true, ...UTC })
    off() {}
    @Cron(CronExpression.EVERY_SECOND, { name: 'delayed', initialDelay: 5_000, ...UTC })
    later() {
      this.delayed += 1
    }
    @Cron(CronExpression.EVERY_SECOND, { name: 'off-and-delayed', disabled: true, initialDelay: 1_000, ...UTC })
    never() {
      this.delayed += 1
    }
    @Cron(CronExpression.EVERY_MINUTE, { name: 'slow', waitForCompletion: true, ...UTC })
    async slow() {
      this.calls += 1
      await new Promise((resolve) => setTimeout(resolve, SLOW_MS))
      this.finished += 1
      if (this.calls >= 3) this.registry.getCronJob('slow').stop()
    }
    add(): CronJob {
      const job = new CronJob(CronExpression.EVERY_SECOND, () => {
        this.dynamic += 1
        if (this.dynamic >= 3) this.registry.getCronJob('dynamic').stop()
      })
      this.registry.addCronJob('dynamic', job as never)
      return job
    }
    has(name: string) {
      return this.registry.doesExist('cron', name)
    }
  }
  return CronService
}

function timerServices({ Interval, Timeout, SchedulerRegistry: Registry }: Door) {
  @Injectable()
  class IntervalService {
    called = false
    constructor(@Inject(Registry) readonly registry: SchedulerRegistry) {}
    @Interval('test', PERIOD_MS)
    tick() {
      this.called = true
      clearInterval(this.registry.getInterval('test'))
    }
    add() {
      this.registry.addInterval(
        'dynamic',
        setInterval(() => undefined, PERIOD_MS),
      )
    }
    has(name: string) {
      return this.registry.doesExist('interval', name)
    }
  }
  @Injectable()
  class TimeoutService {
    called = false
    constructor(@Inject(Registry) readonly registry: SchedulerRegistry) {}
    @Timeout('test', PERIOD_MS)
    fire() {
      this.called = true
    }
    add() {
      this.registry.addTimeout(
        'dynamic',
        setTimeout(() => undefined, PERIOD_MS),
      )
    }
    has(name: string) {
      return this.registry.doesExist('timeout', name)
    }
  }
  return { IntervalService, TimeoutService }
}

function perRequest({ Cron, Interval, Timeout, CronExpression }: Door) {
  @Injectable({ scope: Scope.REQUEST })
  class ScopedCron {
    @Cron(CronExpression.EVERY_SECOND)
    handle() {}
  }
  @Injectable({ scope: Scope.REQUEST })
  class ScopedInterval {
    @Interval('test', PERIOD_MS)
    handle() {}
  }
  @Injectable({ scope: Scope.REQUEST })
  class ScopedTimeout {
    @Timeout('test', PERIOD_MS)
    handle() {}
  }
  return { ScopedCron, ScopedInterval, ScopedTimeout }
}

function throwing({ Interval }: Door) {
  @Injectable()
  class Throwing {
    calls = 0
    @Interval(PERIOD_MS)
    tick() {
      this.calls += 1
      throw new Error('a tick that throws')
    }
  }
  return Throwing
}

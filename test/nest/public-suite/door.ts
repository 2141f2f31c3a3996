import type { DynamicModule, Type } from '@nestjs/common'
import type { SchedulerRegistry } from '@nestjs/schedule'

// biome-ignore lint/suspicious/noExplicitAny: the doors differ in what they demand of a method; the cases suit both.
type Decorate = (...given: any[]) => any

export interface SuiteOptions {
  readonly cronJobs?: boolean
  readonly intervals?: boolean
  readonly timeouts?: boolean
}

export interface AsyncOptions {
  readonly useFactory?: () => SuiteOptions
  readonly useClass?: Type<OptionsMaker>
  readonly useExisting?: Type<OptionsMaker>
  readonly imports?: Type[]
}

export interface OptionsMaker {
  createScheduleOptions(): SuiteOptions
}

/** What an application imports: the one line that changes when it moves. */
export interface Door {
  readonly Cron: Decorate
  readonly Interval: Decorate
  readonly Timeout: Decorate
  readonly CronExpression: Readonly<Record<'EVERY_SECOND' | 'EVERY_30_SECONDS' | 'EVERY_MINUTE' | 'EVERY_HOUR', string>>
  readonly SchedulerRegistry: typeof SchedulerRegistry
  forRoot(options?: SuiteOptions): DynamicModule
  forRootAsync(options: AsyncOptions): DynamicModule
}

import { expect, vi } from 'vitest'
import type { Case } from './cases.js'
import type { Play, Stage } from './stage.js'

const NULL_PROTOTYPE = { provide: 'NULL_PROTOTYPE', useValue: Object.create(null) }

interface TimerService {
  readonly called: boolean
  add(): void
  has(name: string): boolean
}

/** How intervals and timeouts differ in the registry. */
interface Kind {
  readonly word: 'interval' | 'timeout'
  readonly noun: 'Interval' | 'Timeout'
  service(stage: Stage): new (...given: never[]) => TimerService
  scoped(stage: Stage): new () => unknown
  get(play: Play, name: string): unknown
  list(play: Play): string[]
  remove(play: Play, name: string): void
}

const INTERVALS: Kind = {
  word: 'interval',
  noun: 'Interval',
  service: ({ services }) => services.IntervalService,
  scoped: ({ services }) => services.ScopedInterval,
  get: ({ registry }, name) => registry.getInterval(name),
  list: ({ registry }) => registry.getIntervals(),
  remove: ({ registry }, name) => registry.deleteInterval(name),
}

const TIMEOUTS: Kind = {
  word: 'timeout',
  noun: 'Timeout',
  service: ({ services }) => services.TimeoutService,
  scoped: ({ services }) => services.ScopedTimeout,
  get: ({ registry }, name) => registry.getTimeout(name),
  list: ({ registry }) => registry.getTimeouts(),
  remove: ({ registry }, name) => registry.deleteTimeout(name),
}

/** An application with the service, initialised; `added`: it has added a timer of its own. */
async function started(stage: Stage, kind: Kind, added: boolean): Promise<{ play: Play; service: TimerService }> {
  const type = kind.service(stage)
  const play = await stage.compose([type as never])
  await play.init()
  const service = play.get(type as never) as TimerService
  if (added) service.add()
  return { play, service }
}

function casesOf(kind: Kind): Case[] {
  const { word, noun } = kind
  const named = (name: string, act: Case[1]): Case => [`${word}: ${name}`, act]
  return [
    named('fires', async (stage) => {
      const { play, service } = await started(stage, kind, false)
      expect(service.called).toBe(false)
      await play.pass(2_500)
      expect(service.called).toBe(true)
    }),
    named('is found in the registry by its name', async (stage) => {
      const { play } = await started(stage, kind, false)
      expect(kind.get(play, 'test')).toBeDefined()
    }),
    named('a dynamic one is found in the registry', async (stage) => {
      const { play } = await started(stage, kind, true)
      expect(kind.get(play, 'dynamic')).toBeDefined()
    }),
    named('a dynamic one is listed', async (stage) => {
      const { play } = await started(stage, kind, true)
      expect(kind.list(play)).toContain('dynamic')
    }),
    named('a dynamic one is deleted', async (stage) => {
      const { play } = await started(stage, kind, true)
      kind.remove(play, 'dynamic')
      expect(() => kind.get(play, 'dynamic')).toThrow(`No ${noun} was found with the given name (dynamic)`)
    }),
    named('a provider without a prototype does no harm', async (stage) => {
      const play = await stage.compose([kind.service(stage) as never, NULL_PROTOTYPE])
      await play.init()
      expect(play.get(kind.service(stage) as never)).toBeDefined()
    }),
    named('closing the application leaves none and no timer behind', async (stage) => {
      const { play } = await started(stage, kind, true)
      await play.close()
      expect(kind.list(play)).toEqual([])
      expect(vi.getTimerCount()).toBe(0)
    }),
    named('doesExist knows a dynamic one', async (stage) => {
      expect((await started(stage, kind, true)).service.has('dynamic')).toBe(true)
    }),
    named('doesExist does not know one that nobody added', async (stage) => {
      expect((await started(stage, kind, false)).service.has('dynamic')).toBe(false)
    }),
    named('a provider of the application warns of nothing', async (stage) => {
      expect((await started(stage, kind, false)).play.warnings).toEqual([])
    }),
    named('a request-scoped provider is left out with a warning', async (stage) => {
      const play = await stage.compose([kind.scoped(stage) as never])
      await play.init()
      expect(kind.list(play)).toEqual([])
      const line = `Cannot register ${word} "Scoped${noun}@handle" because it is defined in a non static provider.`
      expect(play.warnings).toContainEqual([line, 'Scheduler'])
    }),
  ]
}

export const timerCases: readonly Case[] = [
  ...casesOf(INTERVALS),
  ...casesOf(TIMEOUTS),
  [
    'interval: one that throws ticks again',
    async ({ compose, services: { Throwing } }) => {
      const play = await compose([Throwing])
      await play.init()
      await play.pass(5_000)
      expect(play.get(Throwing).calls).toBe(2)
    },
  ],
]

import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { longTimer } from './timer.js'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

const DAY_MS = 86_400_000

it.each([true, false])('a delay beyond what Node’s timers hold is waited for to its end (unref: %s)', (unref) => {
  const fired = vi.fn()
  longTimer(60 * DAY_MS, fired, { unref })
  vi.advanceTimersByTime(60 * DAY_MS - 1)
  expect(fired).not.toHaveBeenCalled()
  vi.advanceTimersByTime(1)
  expect(fired).toHaveBeenCalledOnce()
  expect(vi.getTimerCount()).toBe(0)
})

it('it can be cancelled in any arm', () => {
  const fired = vi.fn()
  const timer = longTimer(60 * DAY_MS, fired, { unref: false })
  vi.advanceTimersByTime(30 * DAY_MS)
  timer.cancel()
  expect(vi.getTimerCount()).toBe(0)
  vi.advanceTimersByTime(60 * DAY_MS)
  expect(fired).not.toHaveBeenCalled()
})

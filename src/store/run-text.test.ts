import { describe, expect, it } from 'vitest'
import { queued } from '../testing/store/builders.js'
import { readRun } from './readable.js'
import { runText } from './run-text.js'

const waiting = queued('billing:a', 'k')
const attempt = {
  id: 'c.0',
  session: 's',
  node: 'n#1',
  token: 7,
  startedAt: 5,
  endedAt: null,
  outcome: null,
  note: null,
}
const running = {
  ...waiting,
  state: 'running',
  place: true,
  attempt: 2,
  attemptId: 'c.1',
  session: 's',
  token: 8,
  attempts: [
    { ...attempt, endedAt: 6, outcome: 'failed', note: '' },
    { ...attempt, id: 'c.1', token: 8 },
  ],
  readyAt: 9,
  startedAt: 5,
  since: 0,
  data: '',
} as const

const read = (text: string) => readRun(JSON.parse(text), null)

describe('the text of a run', () => {
  it.each([
    ['that waits', waiting],
    ['that runs, with an empty note, empty data and an instant 0', running],
  ])('is read as the run it was written of, one %s', (_, run) => {
    expect(read(runText(run))).toEqual(run)
  })

  it('says nothing of what is empty', () => {
    expect(runText(waiting)).not.toMatch(/null|false|\[\]/)
    expect(runText(waiting).length).toBeLessThan(JSON.stringify(waiting).length * 0.6)
  })

  it('leaves the stop to its column', () => {
    const stop = { kind: 'cancel', at: 1, by: 'ops', why: null } as const
    expect(runText({ ...running, stop })).toBe(runText(running))
    expect(readRun(JSON.parse(runText(running)), stop)).toEqual({ ...running, stop })
  })

  it('keeps what a later version has added to a run or to an attempt', () => {
    const later = { ...running, hue: 'red', attempts: [{ ...attempt, host: 'a' }] }
    expect(read(runText(later))).toEqual(later)
  })

  it('is read also where it says what is empty', () => {
    expect(read(JSON.stringify(running))).toEqual(running)
  })

  it.each([
    ['token', { token: null }],
    ['attempts', { attempts: 'none' }],
    ['attempts', { attempts: [null] }],
    ['covers', { covers: 1 }],
    ['state', { state: 'gone' }],
  ])('is refused where its %s cannot be', (field, odd) => {
    expect(() => read(JSON.stringify({ ...running, ...odd }))).toThrow(`the run k has an impossible ${field}`)
  })
})

import type { Settlement } from '../../ledger/types.js'
import type { SettleResult } from '../port.js'
import { columns, separatorsFor } from './columns.js'
import type { Ledger } from './ledger.js'
import { compareBytes } from './order.js'
import { RUN_COLUMNS, runColumns } from './rows.js'

type Word = 's' | 'l' | null

interface Answer {
  readonly at: readonly number[] | null
  readonly words: readonly Word[] | null
  readonly otherAt: readonly number[] | null
  readonly otherWords: readonly Word[] | null
  readonly woken: readonly number[] | null
}

const COLUMNS = ['s_job', 's_key', 's_token', 's_attempt', 's_failures', 's_wake_at', 's_succeeded', 's_floor'] as const

export async function settle(ledger: Ledger, settlements: readonly Settlement[]): Promise<readonly SettleResult[]> {
  const results = new Map<Settlement, SettleResult>()
  for (const part of inParts(settlements)) {
    const words = await settlePart(ledger, part)
    for (const [index, each] of part.entries()) {
      const word = words.get(index + 1)
      results.set(each, word === 's' ? 'settled' : word === 'l' ? 'late' : 'lost')
    }
  }
  return settlements.map((each) => results.get(each) ?? 'lost')
}

/** A run that is settled more than once is so in one part after the other: each statement writes a row once. */
function inParts(settlements: readonly Settlement[]): Settlement[][] {
  const parts: Settlement[][] = []
  const times = new Map<string, number>()
  for (const each of new Set(settlements)) {
    const name = JSON.stringify([each.job, each.key])
    const time = times.get(name) ?? 0
    times.set(name, time + 1)
    const part = parts[time] ?? []
    parts[time] = part
    part.push(each)
  }
  return parts
}

/** The answers by place in the list, from 1. */
async function settlePart(ledger: Ledger, settlements: readonly Settlement[]): Promise<ReadonlyMap<number, Word>> {
  const { server, line, fleet } = ledger
  const rows = settlements.map((each) => ({
    s_job: each.job,
    s_key: each.key,
    s_token: each.token,
    s_attempt: each.attemptId,
    s_failures: each.failures,
    s_wake_at: each.wakeAt,
    s_succeeded: each.succeededUntil,
    s_floor: each.tokenFloor,
    ...runColumns(each.run),
  }))
  const jobs = [...new Set(settlements.map((each) => each.job))].sort(compareBytes).map((p_jobs) => ({ p_jobs }))
  const words = separatorsFor([rows])
  const {
    at,
    words: found,
    otherAt,
    otherWords,
    woken,
  } = await server.call<Answer>('settle', {
    p_fleet: fleet,
    p_sep: words.sep,
    p_null: words.none,
    p_count: rows.length,
    ...columns(['p_jobs'], jobs, words),
    ...columns([...COLUMNS, ...RUN_COLUMNS], rows, words),
  })
  line.tell(woken ?? [])
  const pairs = [...pair(at, found), ...pair(otherAt, otherWords)]
  return new Map(pairs)
}

function pair(at: readonly number[] | null, words: readonly Word[] | null): (readonly [number, Word])[] {
  return (at ?? []).map((place, index) => [place, words?.[index] ?? null] as const)
}

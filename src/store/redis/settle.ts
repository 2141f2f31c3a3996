import type { Settlement } from '../../ledger/types.js'
import type { SettleResult } from '../port.js'
import { runText } from '../run-text.js'
import type { Ledger } from './ledger.js'
import { runArguments } from './rows.js'
import { SETTLE } from './scripts/settle.js'
import { script } from './server.js'

const SCRIPT = script(SETTLE)

/** Settlements of one script; others are served before the next one. */
const PART = 250

type Word = 's' | 'l' | 'x'

type Answer = readonly [incarnation: string, writes: number, words: readonly Word[], woken: readonly number[]]

const RESULTS = { s: 'settled', l: 'late', x: 'lost' } as const satisfies Record<Word, SettleResult>

export async function settle(ledger: Ledger, settlements: readonly Settlement[]): Promise<readonly SettleResult[]> {
  const { server, main, line } = ledger
  const results = new Map<Settlement, SettleResult>()
  for (const part of inParts(settlements)) {
    const args = [...server.history(), line.channel, line.self, part.length, ...part.flatMap(settlementArguments)]
    const sessions = new Set(part.flatMap(({ run }) => run.session ?? []))
    const keys = [...sessions].map((session) => `session:${session}`)
    const [incarnation, writes, words, woken] = await server.run<Answer>(main, SCRIPT, args, keys)
    server.learn(incarnation, writes)
    line.wake(woken)
    for (const [index, each] of part.entries()) results.set(each, RESULTS[words[index] ?? 'x'])
  }
  return settlements.map((each) => results.get(each) ?? 'lost')
}

function settlementArguments(each: Settlement) {
  const { job, key, token, attemptId, failures, wakeAt, succeededUntil, tokenFloor, run } = each
  return [
    job,
    key,
    token,
    attemptId,
    failures,
    wakeAt ?? '',
    succeededUntil ?? '',
    tokenFloor ?? '',
    ...runArguments(run),
    runText(run),
  ]
}

/** A run that is settled more than once is so in one part after the other. */
function inParts(settlements: readonly Settlement[]): Settlement[][] {
  const parts: Settlement[][] = []
  let names = new Set<string>()
  for (const each of new Set(settlements)) {
    const name = `${each.key}\0${each.job}`
    const last = parts.at(-1)
    if (last && last.length < PART && !names.has(name)) last.push(each)
    else {
      parts.push([each])
      names = new Set()
    }
    names.add(name)
  }
  return parts
}

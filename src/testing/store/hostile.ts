import assert from 'node:assert/strict'
import {
  change,
  creation,
  event,
  fresh,
  granted,
  header,
  hello,
  over,
  queued,
  START,
  settlement,
  stored,
} from './builders.js'
import { type Cases, outcomes } from './world.js'

/** Well-formed text of every kind; what is not well-formed, and NUL, is removed by the ledger before it comes here. */
const HOSTILE_TEXTS: readonly string[] = [
  ' ',
  ' leading and trailing ',
  "Robert'); DROP TABLE job;--",
  '"; DELETE FROM run; --',
  "'' \\' \\\\ \\n \\u0000 \\x00",
  '@fleet :job $1 ? ?1 %s {{y}}',
  '%_*?[a-z]',
  '__proto__',
  'constructor',
  'null',
  '[]{}"\'`<>&',
  '😀👩‍👩‍👧‍👦🏳️‍🌈',
  'שלום عليكم \u202e reversed \u202c',
  '\u{1f4a9}\u{10ffff}\ufffd\ufeff',
  'é and e\u0301',
  'İstanbul ıI ß ẞ',
  'line\nbreak\r\nand\ttab\u2028\u2029\u0001\u007f',
  '日本語テキスト',
  '0e0',
  '-1',
  'x'.repeat(2_000),
]

/** Text comes back as it was written, and none of it reaches a statement, a path or a pattern. */
export const HOSTILE: Cases = {
  'jobs and keys of any name are different jobs and runs, and come back unchanged': async (w) => {
    await w.job('billing:quiet', {}, [queued('billing:quiet', 'k')])
    const ids = HOSTILE_TEXTS.map((text) => `billing:${text}`)
    for (const [i, job] of ids.entries()) {
      await w.job(job, { name: HOSTILE_TEXTS[i] ?? '', wakeAt: START - 1_000 + i }, [
        ...HOSTILE_TEXTS.map((key, position) => queued(job, key, { position, data: JSON.stringify(key) })),
      ])
    }
    for (const [i, job] of ids.entries()) {
      const { header: head, runs } = await w.read(job)
      assert.deepEqual([head.job, head.name], [job, HOSTILE_TEXTS[i]])
      assert.deepEqual(
        runs.map((run) => run.key),
        HOSTILE_TEXTS,
      )
      assert.deepEqual(
        runs.map((run) => JSON.parse(run.data ?? '')),
        HOSTILE_TEXTS,
      )
    }
    const seen = await w.attend(await w.begin())
    assert.deepEqual(
      seen.jobs.map((job) => job.header.job),
      ids,
    )
    assert.equal((await w.read('billing:quiet')).runs.length, 1)
  },

  'texts of a run come back unchanged from commit and settlement': async (w) => {
    const session = await w.begin()
    for (const [i, text] of HOSTILE_TEXTS.entries()) {
      const job = `billing:${i}`
      const stop = { kind: 'cancel', at: START, by: text, why: text } as const
      const before = queued(job, 'k', { data: JSON.stringify({ [text]: text }), resource: text, date: text, stop })
      const read = await w.job(job, {}, [before])
      const run = granted(before, { session: session.id, attemptId: `${text}.${i}`, token: i + 1, at: w.now })
      assert.deepEqual(outcomes(await w.commit(session, change(w.id(), read, { runs: [over(before, run)] }))), ['won'])
      assert.deepEqual((await w.beat(session)).strays, [run])
      const error = { name: text, message: text, stack: text }
      const attempts = run.attempts.map((attempt) => ({ ...attempt, note: text, outcome: 'failed' as const }))
      const failed = { ...run, state: 'failed' as const, place: false, endedAt: w.now, error, attempts, result: text }
      assert.deepEqual(await w.store.settle([settlement(run, w.now, { run: failed })]), ['settled'])
      assert.deepEqual(await w.run(job, 'k'), failed)
      const { runs } = await w.store.load({ attempts: [run.attemptId ?? ''] })
      assert.deepEqual(runs, [failed])
    }
  },

  'texts of events, definitions, pauses and nodes come back unchanged': async (w) => {
    for (const [i, text] of HOSTILE_TEXTS.entries()) {
      const session = { id: `session ${text}`, node: text, leaseMs: 10_000 }
      const manifest = JSON.parse(`{${JSON.stringify(text)}: "x", "__proto__": ${JSON.stringify(text)}}`)
      const said = hello({ label: text, services: [text], manifest, zoneData: text, release: text })
      assert.equal((await w.attend(session, { hello: said })).alive, true)
      const job = `billing:${i}`
      const note = event(text, job, { by: text, why: text, data: JSON.stringify(text) })
      const known = stored({ hash: text, release: text })
      const head = header(job, { definition: text, pause: { since: START, until: null, by: text, why: text } })
      const made = creation(`c ${text}`, job, { header: head, definition: known, events: [note] })
      assert.deepEqual(outcomes(await w.commit(session, made)), ['won'])
      const loaded = await w.store.load({ jobs: [job], requests: [text], nodes: true })
      assert.deepEqual(loaded.jobs.get(job)?.header, head)
      assert.equal(loaded.jobs.get(job)?.version, `c ${text}`)
      assert.deepEqual(loaded.definitions.get(job), [known])
      assert.deepEqual(loaded.events, [note])
      const row = loaded.nodes.find((node) => node.session === session.id)
      assert.deepEqual(row?.hello, said)
      assert.deepEqual(Object.keys(row?.hello.manifest ?? {}).sort(), Object.keys(manifest).sort())
    }
    const listed = await w.store.events({ limit: 1_000 })
    assert.deepEqual(listed.map((note) => note.id).toSorted(), HOSTILE_TEXTS.toSorted())
  },

  'services of any name are asked for by that name': async (w) => {
    const session = await w.begin()
    for (const [i, service] of HOSTILE_TEXTS.entries()) await w.job(`${service}:${i}`, { service, wakeAt: START })
    for (const [i, service] of HOSTILE_TEXTS.entries()) {
      const { jobs } = await w.attend(session, { services: [service] })
      assert.deepEqual(
        jobs.map((job) => job.header.job),
        [`${service}:${i}`],
      )
      assert.equal((await w.store.jobs({ service, limit: 10 })).length, 1)
    }
    assert.equal((await w.attend(session, { services: HOSTILE_TEXTS })).jobs.length, HOSTILE_TEXTS.length)
  },

  'a megabyte of data comes back': async (w) => {
    const data = JSON.stringify('語😀"\\'.repeat(100_000))
    await w.job('billing:a', {}, [queued('billing:a', 'k', { data })])
    assert.equal((await w.run('billing:a', 'k'))?.data, data)
  },

  'what is handed out is nobody’s to change': async (w) => {
    const read = await w.job('billing:a', {}, [queued('billing:a', 'k')])
    const before = structuredClone(read)
    for (const spoil of [
      () => Object.assign(read.header, { lastToken: 99 }),
      () => Object.assign(read.header.cursor, { instant: 0 }),
      () => Object.assign(read.runs[0] ?? {}, { state: 'succeeded' }),
      () => (read.runs as unknown[]).pop(),
    ]) {
      try {
        spoil()
      } catch {
        // A store may hand out frozen objects.
      }
    }
    assert.deepEqual(await w.read('billing:a'), before)
  },

  'what is handed in and changed afterwards does not change the ledger': async (w) => {
    const runs = [fresh(queued('billing:a', 'k'))]
    const manifest: Record<string, string> = { 'billing:a': 'hash-1' }
    const session = { id: 's', node: 'n', leaseMs: 10_000 }
    await w.attend(session, { hello: hello({ manifest }) })
    manifest['billing:b'] = 'hash-2'
    await w.commit(session, creation('c1', 'billing:a', { runs }))
    try {
      runs.push(fresh(queued('billing:a', 'j')))
    } catch {
      // A store may have frozen what it keeps.
    }
    assert.equal((await w.read('billing:a')).runs.length, 1)
    const [row] = (await w.store.load({ nodes: true })).nodes
    assert.deepEqual(row?.hello.manifest, { 'billing:a': 'hash-1' })
  },
}

import assert from 'node:assert/strict'
import type { Attendance, AttendQuery, SessionRef } from '../../store/port.js'
import { buckets, change, creation, header, LEASE_MS, MINUTE, queued, SECOND, SERVICE, START } from './builders.js'
import type { Cases, World } from './world.js'

/** What needs attention, in pages that hide nothing. */
export const PAGING: Cases = {
  'due jobs come in the order of their instants: one’s own at once, others after the grace': async (w) => {
    const session = await w.begin()
    const jobs = [
      ['billing:now', 1, START],
      ['billing:past', 1, START - MINUTE],
      ['billing:soon', 1, START + 1],
      ['billing:never', 1, null],
      ['billing:other', 2, START - SECOND],
      ['billing:other-soon', 2, START - SECOND + 1],
    ] as const
    for (const [job, bucket, wakeAt] of jobs) await w.job(job, { bucket, wakeAt })
    const seen = await w.attend(session, { buckets: new Set([1]), graceMs: SECOND })
    assert.deepEqual(names(seen), ['billing:past', 'billing:other', 'billing:now'])
    assert.deepEqual([seen.after, seen.now], [null, w.now])
    assert.equal(seen.nextWakeAt, START + 1, 'strictly after now')
    assert.equal(seen.nextOtherWakeAt, START - SECOND + 1, 'not looked at yet: it is due here after the grace')
    const none = await w.attend(session, { buckets: new Set(), graceMs: MINUTE + 1 })
    assert.deepEqual([names(none), none.nextWakeAt, none.nextOtherWakeAt], [[], null, START - MINUTE])
  },

  'what is listed is the whole aggregate': async (w) => {
    const session = await w.begin()
    const read = await w.job('billing:a', { wakeAt: START }, [queued('billing:a', 'k')])
    assert.deepEqual((await w.attend(session)).jobs, [read])
  },

  'rows left alone on one page do not hide those of the next': async (w) => {
    const session = await w.begin()
    const jobs = Array.from({ length: 25 }, (_, i) => `billing:${String(i).padStart(2, '0')}`)
    for (const job of jobs) await w.job(job, { wakeAt: START, bucket: job.length })
    assert.deepEqual(await pages(w, session, { limit: 10 }), [jobs.slice(0, 10), jobs.slice(10, 20), jobs.slice(20)])
    assert.deepEqual(await pages(w, session, { limit: 25 }), [jobs])
    assert.deepEqual((await pages(w, session, { limit: 1 })).flat(), jobs)
  },

  'a job that moves on while pages are read hides no other': async (w) => {
    const session = await w.begin()
    const jobs = Array.from({ length: 9 }, (_, i) => `billing:${i}`)
    for (const [i, job] of jobs.entries()) await w.job(job, { wakeAt: START - 100 + i })
    const first = await w.attend(session, { limit: 3 })
    for (const job of first.jobs) {
      await w.won(change(w.id('change'), job, { head: { wakeAt: START + MINUTE } }))
    }
    const second = await w.attend(session, { limit: 3, after: first.after ?? '' })
    const third = await w.attend(session, { limit: 3, after: second.after ?? '' })
    assert.deepEqual([first, second, third].flatMap(names), jobs)
    assert.equal(third.after, null)
  },

  'jobs to recover come before jobs due, and none is passed over where a job is both': async (w) => {
    const [lost, session] = [await w.begin(), await w.begin()]
    const both = ['billing:3', 'billing:1', 'billing:5']
    for (const job of both) await w.running(lost, job, { wakeAt: START })
    const due = ['billing:0', 'billing:2', 'billing:4', 'billing:6']
    for (const job of due) await w.job(job, { wakeAt: START })
    w.pass(LEASE_MS + 1)
    for (const limit of [1, 2, 3, 4, 5, 100]) {
      const found = await pages(w, session, { limit })
      const order = found.flat()
      assert.deepEqual(order.slice(0, 3), [...both].sort(), `pages of ${limit}`)
      assert.deepEqual([...new Set(order)].sort(), [...both, ...due].sort(), `pages of ${limit}`)
      for (const page of found) assert.equal(new Set(page).size, page.length, 'a page names a job once')
    }
  },

  'several services are paged as one': async (w) => {
    const session = await w.begin()
    const odd = ['😀', '\uffee', 'z', "'", '"', '\\', 'é', '語', '%', '_'].map((name) => `billing:${name}`)
    const mail = odd.map((job) => job.replace('billing', 'mail'))
    for (const job of odd) await w.job(job, { wakeAt: START })
    for (const job of mail) await w.job(job, { wakeAt: START, service: 'mail' })
    await w.job('third:a', { wakeAt: START, service: 'third' })
    for (const limit of [1, 3, 7]) {
      const found = (await pages(w, session, { limit, services: [SERVICE, 'mail'] })).flat()
      assert.equal(found.length, odd.length + mail.length)
      assert.deepEqual(found.toSorted(), [...odd, ...mail].toSorted())
    }
    assert.deepEqual(await pages(w, session, { services: [] }), [[]])
  },

  'a job is found by its present service, bucket and wake-up only': async (w) => {
    const session = await w.begin()
    const read = await w.job('billing:a', { bucket: 1, wakeAt: START })
    const head = { bucket: 2, wakeAt: START + MINUTE, service: 'mail' }
    await w.won(change('c1', read, { head }))
    assert.deepEqual(names(await w.attend(session)), [])
    const query = { services: ['mail'], buckets: new Set([2]) }
    assert.equal((await w.attend(session, query)).nextWakeAt, START + MINUTE)
    w.pass(MINUTE)
    assert.deepEqual(names(await w.attend(session, query)), ['billing:a'])
    assert.deepEqual(names(await w.attend(session, { services: ['mail'], buckets: buckets(2), graceMs: 1 })), [])
  },
}

/** Few rows needed, many there: the answers stay right, and the statements go by an index. */
export const SCALE: Cases = {
  'of 10,000 queued runs a job is loaded with all that hold a place and the first 100 of each lane': async (w) => {
    const session = await w.begin()
    const lanes = ['schedule', 'manual', 'backlog'] as const
    const runs = Array.from({ length: 10_000 }, (_, i) => {
      const position = 10_000 - i
      const lane = lanes[i % 3] ?? 'manual'
      return queued('billing:a', `k${String(position).padStart(5, '0')}`, { position, lane })
    })
    const waiting = { schedule: 3_334, manual: 3_333, backlog: 3_333 }
    const read = await w.job('billing:a', { waiting, wakeAt: START }, runs)
    for (const lane of lanes) {
      const expected = runs
        .filter((run) => run.lane === lane)
        .slice(-100)
        .reverse()
      assert.deepEqual(
        read.runs.filter((run) => run.lane === lane),
        expected,
      )
    }
    assert.equal(read.runs.length, 300)
    const first = read.runs[0]?.key ?? ''
    const running = await w.grant(session, 'billing:a', first)
    const after = await w.read('billing:a')
    assert.equal(after.runs.length, 301)
    assert.deepEqual(after.runs[0], running)
    assert.deepEqual((await w.attend(session)).jobs, [after])
    assert.deepEqual(await scans(w), [])
  },

  'of 100,000 idle jobs the due ones are found, and what comes next': async (w) => {
    const session = await w.begin()
    const founder = await w.founder()
    const count = 100_000
    for (let done = 0; done < count; done += 1_000) {
      const changes = Array.from({ length: 1_000 }, (_, i) => {
        const n = done + i
        const wakeAt = n % 20_000 === 0 ? START - n : START + MINUTE + n
        return creation(`c${n}`, `billing:${n}`, { header: header(`billing:${n}`, { bucket: n % 256, wakeAt }) })
      })
      await w.commit(founder, ...changes)
    }
    const own = new Set([3])
    const seen = await w.attend(session, { buckets: own })
    assert.deepEqual(names(seen), ['billing:80000', 'billing:60000', 'billing:40000', 'billing:20000'])
    assert.deepEqual([seen.nextWakeAt, seen.nextOtherWakeAt], [START + MINUTE + 3, START])
    const reply = await w.beat(session, { buckets: own })
    assert.deepEqual([reply.nextWakeAt, reply.nextOtherWakeAt], [START + MINUTE + 3, START - 80_000])
    assert.deepEqual(
      (await w.store.jobs({ after: 'billing:99998', limit: 5 })).map((job) => job.header.job),
      ['billing:99999'],
    )
    assert.deepEqual(await scans(w), [])
  },
}

async function scans(w: World): Promise<readonly string[]> {
  return (await w.place.fullScans?.()) ?? []
}

function names(seen: Attendance): string[] {
  return seen.jobs.map((job) => job.header.job)
}

/** Reads pages until there is no other, doing nothing about what they hold. */
async function pages(w: World, session: SessionRef, query: Partial<AttendQuery>): Promise<string[][]> {
  const found: string[][] = []
  let after: string | null = null
  do {
    const seen: Attendance = await w.attend(session, { ...query, ...(after === null ? {} : { after }) })
    found.push(names(seen))
    after = seen.after
    assert.ok(found.length < 1_000, 'the pages come to an end')
  } while (after !== null)
  return found
}

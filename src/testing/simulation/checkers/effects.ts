import type { Observation } from '../observations.js'
import type { Checker, CheckerContext } from './checker.js'

/** What an attempt says that a fence has refused. */
const REFUSED = /^a fence showed token (\d+)$/

/**
 * S4, S5: the business database. Every key has one effect, whatever happened to the ledger; and from the start of an
 * attempt no older attempt of the same resource writes.
 */
export function checkEffects({ truth, broken }: CheckerContext): Checker {
  /** The greatest token with which a fenced handler has been started, by resource. */
  const started = new Map<string, number>()
  /** What the fence showed when an attempt was granted, where that was more than its token. */
  const shownAtGrant = new Map<string, number>()
  const { business } = truth.world

  /** Whoever ends a run whose handler goes on has shut it out before. */
  const ended = (seen: Extract<Observation, { kind: 'effect' }>): void => {
    const { plan } = truth.world
    if (seen.job === null || seen.run === null || plan.families.has('business') || truth.restoredAt > 0) return
    // The business database is told the fleet too.
    const job = seen.job.slice(seen.job.indexOf('/') + 1)
    const grant = truth.grant(job, seen.run, seen.token ?? 0)
    const attempts = truth.ledger.run(job, seen.run)?.attempts
    const outcome = attempts?.find((one) => one.token === seen.token)?.outcome ?? null
    if (!grant?.definition?.fence || outcome === null || outcome === 'lost') return
    broken('S4', `${seen.key} was written with token ${seen.token} after its attempt had ended as ${outcome}`)
  }

  return {
    see(seen) {
      if (seen.kind === 'commit') {
        for (const { job, key, after } of seen.rows) {
          const refused = REFUSED.exec(after?.attempts.at(-2)?.note ?? '')?.[1] ?? 0
          if (after?.state === 'running' && after.token <= Number(refused)) {
            broken('S3', `${job}/${key} was granted with token ${after.token} after a fence had shown it ${refused}`)
          }
          const shows = business.fences.get(after?.resource ?? '') ?? 0
          if (after?.state === 'running' && shows > after.token) shownAtGrant.set(`${job}|${key}|${after.token}`, shows)
        }
      }
      if (seen.kind === 'handler-started') {
        const grant = truth.grant(seen.job, seen.key, seen.token)
        if (grant?.definition?.fence !== true) return
        const { resource } = grant.run
        const shows = business.fences.get(resource) ?? -1
        if (shows < seen.token) {
          broken(
            'S4',
            `${seen.job}/${seen.key}#${seen.token} was started while the fence of ${resource} shows ${shows}`,
          )
        }
        const shown = shownAtGrant.get(`${seen.job}|${seen.key}|${seen.token}`)
        if (shown !== undefined) {
          broken('S4', `${seen.job}/${seen.key}#${seen.token} was started although the fence had shown ${shown}`)
        }
        started.set(resource, Math.max(started.get(resource) ?? 0, seen.token))
      }
      if (seen.kind === 'effect') {
        for (const resource of seen.resources) {
          const newest = started.get(resource) ?? 0
          if ((seen.token ?? 0) < newest) {
            broken('S4', `${seen.key} was written with token ${seen.token} after ${newest} had started on ${resource}`)
          }
        }
        ended(seen)
        if (seen.invoices > 1) broken('S5', `${seen.key} was written with ${seen.invoices} invoices`)
      }
      if (seen.kind === 'once' && seen.error === null) {
        const row = business.effects.get(seen.key)
        if (row?.state !== 'done') broken('S5', `${seen.key} was reported as done and is not there`)
        else if (JSON.parse(row.result ?? 'null') !== seen.result) {
          broken('S5', `${seen.key} was reported with ${seen.result}, its first result is ${row.result}`)
        }
      }
    },

    end() {
      const counts = new Map<string, number>()
      for (const { key } of business.invoices) counts.set(key, (counts.get(key) ?? 0) + 1)
      for (const [key, count] of counts) if (count > 1) broken('S5', `${key} has ${count} invoices`)
      for (const key of business.effects.keys()) {
        if (!counts.has(key)) broken('S5', `the effect ${key} is recorded and its invoice is not there`)
      }
      for (const key of counts.keys()) if (!business.effects.has(key)) broken('S5', `the invoice ${key} has no effect`)
    },
  }
}

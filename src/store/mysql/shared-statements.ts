import { WINDOW } from '../../ledger/limits.js'
import type { Lane } from '../../ledger/types.js'

/**
 * What the statements have in common. A method reads all that it needs in one statement, whose parts are joined by UNION
 * ALL: each row begins with a letter that says which part it is of, and has as many columns as the longest.
 *
 * Every table is read by an index that is named, joined in the order in which it stands. Whether there is a row is asked
 * with `LIMIT 1` and `IS NULL`: EXISTS is turned by some optimizers into a list of all rows that there are.
 */

/**
 * The store's clock, epoch milliseconds, at the start of the statement: one value in all of it. Not by way of a date, which in
 * the hour that a session's zone repeats would be an hour off.
 */
export const CLOCK = 'UNIX_TIMESTAMP() * 1000 + MICROSECOND(NOW(6)) DIV 1000'

/** Columns after the letter. */
export const WIDTH = 12

/** The end of a part that has so many columns of its own. */
export function pad(count: number): string {
  return ', NULL'.repeat(WIDTH - count)
}

/** Whether the session named \`session\` holds a run. */
const HOLDS = `(SELECT 1 FROM fleetcron_run h FORCE INDEX (run_holder) WHERE h.fleet = :fleet AND h.holder = `

export const MINE_HOLDS = `${HOLDS}:session LIMIT 1)`
export const NODE_HOLDS = `${HOLDS}n.session LIMIT 1)`

/** A session that has neither ended nor run out; one that holds no run does not run out. */
export const IS_ALIVE = `ended_at IS NULL AND (lease_end >= ${CLOCK} OR ${MINE_HOLDS} IS NULL)`

/** The clock, the session, and the word of the store. */
export const SELF = `
  (SELECT 'n', ${CLOCK}, n.seq, n.ended_at, n.lease_end, ${MINE_HOLDS}, n.beats,
    (SELECT m.value FROM fleetcron_meta m WHERE m.name = 'incarnation')${pad(7)}
  FROM (SELECT 1 AS one) o LEFT JOIN fleetcron_node n ON n.fleet = :fleet AND n.session = :session)`

const WAITS = `FROM fleetcron_run w FORCE INDEX (run_live) WHERE w.fleet = :fleet AND w.live_job = j.job AND w.place = 0`

function waits(lane: Lane, letter: string): string {
  return `IF((SELECT 1 ${WAITS} AND w.lane = '${lane}' LIMIT 1) IS NULL, NULL, '${letter}')`
}

/** Letters of the lanes in which runs of the job wait. No text is empty here: there are modes in which that is NULL. */
const LANES_WITH_RUNS = `
  IF((SELECT 1 ${WAITS} LIMIT 1) IS NULL, NULL,
    CONCAT_WS('-', ${waits('schedule', 's')}, ${waits('manual', 'm')}, ${waits('backlog', 'b')}))`

export const LETTERS: Readonly<Record<string, Lane>> = { s: 'schedule', m: 'manual', b: 'backlog' }

/** A job's row with its definition; \`at\` is where the job stands on a page. */
function jobColumns(at: string): string {
  return `'j', j.job, CAST(j.header AS BINARY), j.wake_at, j.version, j.settled, j.failures, j.succeeded_until, j.token_floor,
    j.definition, CAST(d.body AS BINARY), ${LANES_WITH_RUNS}, ${at}`
}

const DEFINED = `
  LEFT JOIN fleetcron_definition d FORCE INDEX (PRIMARY)
    ON d.fleet = :fleet AND d.job = j.job AND d.hash = j.definition`

/** The last column puts the parts of a window in order: places first, then lane by lane. */
const RUN_ROW = `'p', r.job, r.run_key, CAST(r.body AS BINARY), CAST(r.stop AS BINARY), r.position,
    IF(r.place = 1, 0, FIELD(r.lane, 'schedule', 'manual', 'backlog'))${pad(6)}`

/** Jobs of a page, which is a table with the columns \`job\` and \`at\`, and their runs that hold a place. */
export function aggregatesOn(page: string): string {
  return `
  (SELECT ${jobColumns('page.at')}
  FROM ${page} STRAIGHT_JOIN fleetcron_job j FORCE INDEX (PRIMARY) ON j.fleet = :fleet AND j.job = page.job ${DEFINED})
  UNION ALL
  (SELECT ${RUN_ROW}
  FROM ${page} STRAIGHT_JOIN fleetcron_run r FORCE INDEX (run_live)
    ON r.fleet = :fleet AND r.live_job = page.job AND r.place = 1)`
}

/** The same by name. */
export const AGGREGATES = `
  (SELECT ${jobColumns('NULL')}
  FROM fleetcron_job j FORCE INDEX (PRIMARY) ${DEFINED}
  WHERE j.fleet = :fleet AND j.job IN :jobs)
  UNION ALL
  (SELECT ${RUN_ROW} FROM fleetcron_run r FORCE INDEX (run_live)
  WHERE r.fleet = :fleet AND r.live_job IN :jobs AND r.place = 1)`

/** The first waiting runs of a job in a lane. */
export const WAITING = `
  UNION ALL
  (SELECT ${RUN_ROW} FROM fleetcron_run r FORCE INDEX (run_live)
  WHERE r.fleet = :fleet AND r.live_job = :job AND r.place = 0 AND r.lane = :lane
  ORDER BY r.position, r.run_key LIMIT ${WINDOW})`

/** The earliest wake-up after an instant among the buckets whose digit is \`wanted\`. */
export const NEXT_WAKE = `
  UNION ALL
  (SELECT :kind, j.wake_at${pad(1)} FROM fleetcron_job j FORCE INDEX (job_wake)
  WHERE j.fleet = :fleet AND j.service = :service AND j.wake_at > :after
    AND SUBSTRING(:mine, j.bucket + 1, 1) = :wanted
  ORDER BY j.wake_at LIMIT 1)`

/** The earliest lease end of another session that holds runs. */
export const NEXT_END = `
  UNION ALL
  (SELECT 'e', n.lease_end${pad(1)} FROM fleetcron_node n FORCE INDEX (node_live)
  WHERE n.fleet = :fleet AND n.ended_at IS NULL AND n.session <> :session AND ${NODE_HOLDS} IS NOT NULL
  ORDER BY n.lease_end LIMIT 1)`

/** Locks jobs in the order of their names; gives up after so many milliseconds, by the word of either server. */
export function lockJobs(ms: number): string {
  return `
  /*M! SET STATEMENT max_statement_time = ${ms / 1_000} FOR */ SELECT /*+ MAX_EXECUTION_TIME(${ms}) */ 1
  FROM fleetcron_job FORCE INDEX (PRIMARY) WHERE fleet = :fleet AND job IN :jobs ORDER BY job FOR UPDATE`
}

/** Fails, and with it the message that it is part of, where the condition does not hold. */
export function demand(condition: string): string {
  return `SELECT 9223372036854775807 + IF(${condition}, 0, 1)`
}

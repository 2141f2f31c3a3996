import type { Db } from '../shared/database.js'

const TABLE = `
  CREATE TABLE IF NOT EXISTS work (
    period TEXT NOT NULL, attempt INTEGER NOT NULL, node TEXT NOT NULL, began_at INTEGER NOT NULL, ended_at INTEGER,
    PRIMARY KEY (period, attempt)
  ) STRICT`
const BEGIN = `
  INSERT INTO work (period, attempt, node, began_at)
  SELECT @period, 1 + count(*), @node, @now FROM work WHERE period = @period RETURNING attempt`
const END = 'UPDATE work SET ended_at = @now WHERE period = @period AND attempt = @attempt'
const LAST = 'SELECT period FROM work WHERE ended_at IS NOT NULL ORDER BY unixepoch(period) DESC LIMIT 1'

/** Who worked on which period, and whether he came to an end. */
export class WorkLog {
  constructor(private readonly database: Db) {
    database.exec(TABLE)
  }

  /** Returns the number of the attempt, from 1. */
  begin(period: string, node: string): number {
    return (this.database.prepare(BEGIN).get({ period, node, now: Date.now() }) as { attempt: number }).attempt
  }

  end(period: string, attempt: number): void {
    this.database.prepare(END).run({ period, attempt, now: Date.now() })
  }

  lastFinished(): string | null {
    return (this.database.prepare(LAST).get() as { period: string } | undefined)?.period ?? null
  }
}

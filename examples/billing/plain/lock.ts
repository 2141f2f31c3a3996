import type { Db } from '../shared/database.js'

const TABLE =
  'CREATE TABLE IF NOT EXISTS lock (name TEXT PRIMARY KEY, holder TEXT NOT NULL, until INTEGER NOT NULL) STRICT'
const TAKE = `
  INSERT INTO lock (name, holder, until) VALUES (@name, @holder, @now + @ttl)
  ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until WHERE lock.until <= @now`
const RENEW = 'UPDATE lock SET until = @now + @ttl WHERE name = @name AND holder = @holder'
const FREE = 'DELETE FROM lock WHERE name = @name AND holder = @holder'

/**
 * The usual lock: it expires, so that a dead holder keeps nobody waiting; its holder renews it while it works, and frees
 * only what it holds itself. It is as good as such a lock gets, and does not know that its holder is asleep.
 */
export class ExpiringLock {
  constructor(
    private readonly database: Db,
    private readonly name: string,
    private readonly holder: string,
    private readonly ttlMs: number,
  ) {
    database.exec(TABLE)
  }

  /** Calls `work` if nobody holds the lock. False: somebody does. */
  async hold(work: () => Promise<void>): Promise<boolean> {
    if (this.run(TAKE) === 0) return false
    const renewal = setInterval(() => this.run(RENEW), this.ttlMs / 3)
    try {
      await work()
    } finally {
      clearInterval(renewal)
      this.run(FREE)
    }
    return true
  }

  private run(sql: string): number {
    const { name, holder, ttlMs: ttl } = this
    return this.database.prepare(sql).run({ name, holder, ttl, now: Date.now() }).changes
  }
}

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createEffects } from '../../src/effect/effects.js'
import { CommandLine } from '../cli/command.js'
import { openBusiness } from '../kills/business.js'

/** An empty business database, and a user of it who may write rows and make no tables. */
export interface GuardedBusiness {
  readonly url: string
  /** Makes the user once the tables are there, and says where it connects. */
  restricted(): Promise<string>
  rows(sql: string): Promise<unknown>
  close(): Promise<void>
}

/** The tables of effects on one kind of server: made, printed and verified by the command line. */
export function tablesOn(name: string, make: () => Promise<GuardedBusiness>): void {
  describe(`the tables of effects on ${name}`, () => {
    let command: CommandLine
    let business: GuardedBusiness
    beforeAll(async () => {
      command = await CommandLine.build()
      business = await make()
    })
    afterAll(async () => {
      command.remove()
      await business.close()
    })
    const migrate = (...args: string[]) => command.run(['migrate', '--effects', business.url, ...args])

    it('are made by fleetcron migrate, and used by whoever may not make any', async () => {
      expect(await migrate('--verify')).toMatchObject({
        code: 1,
        out: 'missing: table fleetcron_effect, table fleetcron_fence\n',
      })
      const asked = await command.run(['effects', '--effects', business.url])
      expect(asked).toMatchObject({
        code: 75,
        out: '',
        err: expect.stringMatching(
          /^fleetcron: The business database has no table fleetcron_effect, no table fleetcron_fence: run fleetcron migrate --effects [a-z]+:\/\/…, or look at the URL\.\n$/,
        ),
      })
      expect((await migrate()).out).toBe('made: table fleetcron_effect, table fleetcron_fence\n')
      expect(await migrate('--verify')).toMatchObject({ code: 0, out: 'nothing is missing\n' })
      const user = await openBusiness(await business.restricted())
      try {
        await expect(user.rows('CREATE TABLE mine (id INTEGER)')).rejects.toThrow(/denied/)
        const effects = createEffects(user.adapter)
        expect(await effects.ensure()).toEqual([])
        expect(await effects.raise('r', 1)).toEqual({ raised: true })
        expect(await effects.once('k', () => 'made')).toBe('made')
        expect(await effects.call('c', { send: () => 'sent' })).toBe('sent')
      } finally {
        await user.close()
      }
    })

    it('are made anew by what --print prints, statement by statement', async () => {
      await business.rows('DROP TABLE fleetcron_fence')
      await business.rows('ALTER TABLE fleetcron_effect DROP COLUMN audit')
      const half = 'column audit of fleetcron_effect'
      expect(await migrate('--verify')).toMatchObject({ code: 1, out: `missing: ${half}, table fleetcron_fence\n` })
      expect(await migrate()).toMatchObject({ code: 1, err: expect.stringContaining(`lack ${half}`) })
      await business.rows('DROP TABLE fleetcron_effect')
      const { out } = await migrate('--print')
      for (const statement of out.split(';\n')) if (statement.trim() !== '') await business.rows(statement)
      expect(await migrate()).toMatchObject({ code: 0, out: 'nothing to do: the tables of effects are there\n' })
    })
  })
}

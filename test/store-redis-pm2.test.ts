import { it } from 'vitest'
import { expectOneRunForEach } from './pm2/expectations.js'
import { Pm2, play } from './pm2/play.js'
import { ownServer } from './servers/index.js'

const MINUTES = 60_000

it(
  'PM2 runs four processes over Redis, reloads them and loses one: one run for each occurrence',
  async () => {
    const server = await ownServer('redis')
    const pm2 = new Pm2(server.url)
    try {
      expectOneRunForEach(await play(pm2, 'ecosystem.redis.config.cjs'))
    } finally {
      await pm2.end()
      await server.end()
    }
  },
  5 * MINUTES,
)

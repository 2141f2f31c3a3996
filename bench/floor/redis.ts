import { Redis } from 'ioredis'
import type { Floor } from './floor.js'

/** Claims, or completes, the numbers of its arguments; the last one says which. Returns how many it could. */
const SCRIPT = `
  local done = 0
  for index = 1, #ARGV - 1 do
    if ARGV[#ARGV] == 'claim' then
      done = done + redis.call('HSETNX', KEYS[1], ARGV[index], 'running ' .. ARGV[index])
    elseif redis.call('HGET', KEYS[1], ARGV[index]) == 'running ' .. ARGV[index] then
      redis.call('HSET', KEYS[1], ARGV[index], 'succeeded')
      done = done + 1
    end
  end
  return done`

export async function redisFloor(url: string): Promise<Floor> {
  const clients = Array.from({ length: 16 }, () => new Redis(url))
  for (const client of clients) client.defineCommand('floor', { numberOfKeys: 1, lua: SCRIPT })
  await clients[0]?.del('floor')
  const batch = async (connection: number, numbers: readonly number[]) => {
    const client = clients[connection] as Redis & { floor(key: string, ...args: unknown[]): Promise<number> }
    for (const act of ['claim', 'complete']) {
      if ((await client.floor('floor', ...numbers, act)) !== numbers.length) throw new Error('The floor lost a claim.')
    }
  }
  return {
    batchConnections: 4,
    singleConnections: 16,
    batch,
    single: (connection, number) => batch(connection, [number]),
    end: async () => void (await Promise.all(clients.map((client) => client.quit()))),
  }
}

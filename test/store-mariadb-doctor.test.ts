import { expect, it } from 'vitest'
import { CommandLine } from './cli/command.js'
import { doctored } from './cli/doctored.js'
import { MysqlPlace } from './mysql/place.js'
import { sharedServer } from './servers/index.js'

it('a doctor counts the connections of the MariaDB of a ledger', async () => {
  const command = await CommandLine.build()
  const place = new MysqlPlace((await sharedServer('mariadb')).url)
  const url = new URL(place.url)
  url.searchParams.set('prefix', place.prefix)
  try {
    const { server } = await doctored(command, place.store('doctored'), url.href)
    expect(server).toEqual({
      connections: { used: expect.any(Number), most: expect.any(Number) },
      pooler: null,
      eviction: null,
    })
    expect(server.connections?.used).toBeGreaterThanOrEqual(2)
    expect(server.connections?.most).toBeGreaterThan(10)
  } finally {
    command.remove()
    await place.remove()
  }
})

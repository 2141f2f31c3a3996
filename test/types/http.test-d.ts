import { createServer } from 'node:http'
import { createFleet } from 'fleetcron'
import { createHttpHandler, type HttpHandler, httpDoor, signRequest, toNodeHandler } from 'fleetcron/http'
import { FleetModule } from 'fleetcron/nest'

const secret: string | undefined = process.env.FLEET_SECRET
const fleet = createFleet({ fleet: 'billing', store: 'memory:' })

const handler: HttpHandler = createHttpHandler(fleet, { secrets: [secret], jobs: ['daily-invoices'] })
createServer(toNodeHandler(handler))
handler(new Request('http://localhost/')).then((response) => response.status)

FleetModule.forRoot({ fleet: 'billing', store: 'memory:', http: httpDoor({ tokens: () => ['token'] }) })
FleetModule.forRoot({ fleet: 'billing', store: 'memory:', http: [httpDoor({ secrets: [secret] })] })

// @ts-expect-error a door, not its options
FleetModule.forRoot({ fleet: 'billing', store: 'memory:', http: { secrets: [secret] } })

// @ts-expect-error there is no such option
createHttpHandler(fleet, { secret: 'x' })

const headers: Record<string, string> = signRequest({
  secret: 'x',
  url: new URL('https://app.example/'),
  key: 'order-42',
})
fetch('https://app.example', { headers })

// @ts-expect-error a nonce goes with a signature, and is no part of a trigger
fleet.trigger('daily-invoices', { nonce: 'x' })

fleet.trigger('daily-invoices').then(async (run) => {
  const { state } = await fleet.finished(run, { within: '30s' })
  return state
})

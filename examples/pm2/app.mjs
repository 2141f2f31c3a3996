// One node of the fleet: PM2 starts four of these.
import { createFleet } from 'fleetcron'

const fleet = createFleet({ fleet: 'pm2-example', service: 'example', store: process.env.LEDGER, lease: '5s' })

fleet.job('tick', { every: '1s', overlap: 'wait' }, async (run) => {
  say('begun', run)
  await work(400, run.signal)
  say('done', run)
})

// PM2 asks by SIGINT at stop, restart and reload, by the message where `shutdown_with_message` says so (on Windows), and kills
// after `kill_timeout`: handlers may go on for less than that, and what is left is handed to the other nodes.
let isEnding = false
async function end() {
  if (isEnding) return
  isEnding = true
  await fleet.stop({ grace: '8s' })
  process.exit(0)
}
process.on('SIGINT', end)
process.on('SIGTERM', end)
process.on('message', (message) => {
  if (message === 'shutdown') end()
})

await fleet.start()
// With `wait_ready` PM2 ends the process that this one replaces only now.
process.send?.('ready')

function say(what, { key, attempt }) {
  console.log(JSON.stringify({ what, key, attempt, pid: process.pid }))
}

function work(ms, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason)
    })
  })
}

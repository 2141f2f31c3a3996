#!/usr/bin/env node
import { once } from 'node:events'
import { userInfo } from 'node:os'
import { run } from './program.js'

const LEAVE_MS = 1_000

// Whoever reads may stop reading (`| head -1`): that ends the output, and is no error.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    process.exit()
  })
}

const code = await run(process.argv.slice(2), {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  now: () => Date.now(),
  hostZone: () => Intl.DateTimeFormat().resolvedOptions().timeZone ?? 'UTC',
  user: () => userName() ?? process.env.USER ?? 'unknown',
  stopped: async () => {
    await Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')])
  },
})

process.exitCode = code
// What an application that was named with --app still holds open (a pool, a server) keeps no platform waiting.
setTimeout(() => process.exit(), LEAVE_MS).unref()

/** A container may run under a number that has no name. */
function userName(): string | null {
  try {
    return userInfo().username
  } catch {
    return null
  }
}

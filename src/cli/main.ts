#!/usr/bin/env node
import { run } from './program.js'

// Whoever reads may stop reading (`| head -1`): that ends the output, and is no error.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    process.exit()
  })
}

process.exitCode = run(process.argv.slice(2), {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  now: () => Date.now(),
  hostZone: () => Intl.DateTimeFormat().resolvedOptions().timeZone ?? 'UTC',
})

import { readFileSync } from 'node:fs'
import { Command, CommanderError } from 'commander'
import { BAD_INPUT, DONE, exitCode, FAILED } from '../platform/exit.js'
import { oneLine } from '../platform/told.js'
import { addAsking } from './asking.js'
import { addDoctor } from './doctor.js'
import { addEffects } from './effects.js'
import { addEvents } from './events.js'
import { addExport } from './export.js'
import { addJobs } from './jobs.js'
import { addMigrate } from './migrate.js'
import { addNext } from './next.js'
import { addNodes } from './nodes.js'
import { addRun } from './run.js'
import { addRuns } from './runs.js'
import { addServe } from './serve.js'
import type { Terminal } from './terminal.js'

/** Runs one command line (without node and the script's path) and gives the exit code. An error is one line on `err`. */
export async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  let code = DONE
  const program = new Command('fleetcron')
    .description('Cron for a fleet: look at schedules, look after a ledger.')
    .exitOverride()
    .configureOutput({ writeOut: (text) => terminal.out(text), writeErr: () => {}, outputError: () => {} })
    .option('-V, --version', 'print the version')
    .on('option:version', () => {
      terminal.out(`${packageVersion()}\n`)
      throw new CommanderError(DONE, 'commander.version', '')
    })
  const context = {
    terminal,
    failed: () => {
      code = FAILED
    },
  }
  addNext(program, terminal)
  for (const add of [
    addJobs,
    addRuns,
    addNodes,
    addEvents,
    addAsking,
    addEffects,
    addRun,
    addExport,
    addDoctor,
    addMigrate,
    addServe,
  ]) {
    add(program, context)
  }
  try {
    await program.parseAsync([...args], { from: 'user' })
    return code
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return DONE
    terminal.err(`fleetcron: ${oneLine(sentence(error))}\n`)
    return error instanceof CommanderError ? BAD_INPUT : exitCode(error)
  }
}

function sentence(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (!(error instanceof CommanderError)) return error.message
  if (error.code === 'commander.help') return "name a command, such as 'fleetcron next'; see 'fleetcron --help'"
  const message = error.message.replace(/^error: /, '')
  if (error.code === 'commander.unknownCommand') return `${message}; fleetcron --help lists the commands`
  const isExpression = error.code === 'commander.excessArguments' && message.includes("for 'next'")
  return isExpression ? `${message} Put the expression in quotes.` : message
}

function packageVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

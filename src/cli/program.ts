import { readFileSync } from 'node:fs'
import { Command, CommanderError } from 'commander'
import { FleetcronError } from '../errors.js'
import { addNext } from './next.js'

/** What the command line touches of the process. */
export interface Terminal {
  out(text: string): void
  err(text: string): void
  /** Epoch milliseconds. */
  now(): number
  /** The zone of the process, IANA name. */
  hostZone(): string
}

/** Exit codes: done; something went wrong; the command line itself is not right. */
const DONE = 0
const FAILED = 1
const BAD_INPUT = 2

/** Runs one command line (without node and the script's path) and gives the exit code. An error is one line on `err`. */
export function run(args: readonly string[], terminal: Terminal): number {
  const program = new Command('fleetcron')
    .description('Cron for a fleet: look at schedules.')
    .exitOverride()
    .configureOutput({ writeOut: (text) => terminal.out(text), writeErr: () => {}, outputError: () => {} })
    .option('-V, --version', 'print the version')
    .on('option:version', () => {
      terminal.out(`${packageVersion()}\n`)
      throw new CommanderError(DONE, 'commander.version', '')
    })
  addNext(program, terminal)
  try {
    program.parse([...args], { from: 'user' })
    return DONE
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return DONE
    terminal.err(`fleetcron: ${oneLine(sentence(error))}\n`)
    return error instanceof CommanderError || error instanceof FleetcronError ? BAD_INPUT : FAILED
  }
}

function sentence(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (!(error instanceof CommanderError)) return error.message
  if (error.code === 'commander.help') return "name a command, such as 'fleetcron next'; see 'fleetcron --help'"
  const message = error.message.replace(/^error: /, '')
  return error.code === 'commander.excessArguments' ? `${message} Put the expression in quotes.` : message
}

/** Text from the command line is shown without its line breaks and control characters. */
function oneLine(text: string): string {
  return text
    .replace(/\s+/g, ' ')
    .replace(/[\p{Cc}\p{Cf}]/gu, '?')
    .trim()
}

function packageVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

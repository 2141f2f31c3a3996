import { parseArgs } from 'node:util'
import { FleetcronError } from '../errors.js'
import { DUE_DEFAULTS, type DueRequest, MOST_PATIENCE_MS } from './due.js'
import { durationText } from './duration-text.js'
import { Usage } from './exit.js'

const OPTIONS = {
  occurrence: { type: 'string' },
  early: { type: 'string' },
  patience: { type: 'string' },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const

const USAGE = '<job> [--occurrence <label>] [--early 60s] [--patience 60s] [--json]'

/**
 * What follows the script's name on a command line: `['daily-invoices', '--early', '60s']`.
 *
 * @throws FleetcronError `OPTION_INVALID`; `Usage` where it asks for help
 */
export function dueRequest(argv: readonly string[]): DueRequest & { readonly json: boolean } {
  const { values, positionals } = parsed(argv)
  if (values.help) throw new Usage(`usage: node <script> ${USAGE}`)
  const [job, second] = positionals
  if (job === undefined) throw invalid('it names no job')
  if (second !== undefined) throw invalid(`it names '${job}' and '${second}', and one job is run`)
  const { occurrence = null, early, patience, json } = values
  return {
    job,
    occurrence,
    earlyMs: early === undefined ? DUE_DEFAULTS.earlyMs : durationText(early, '--early'),
    patienceMs:
      patience === undefined ? DUE_DEFAULTS.patienceMs : durationText(patience, '--patience', MOST_PATIENCE_MS),
    json,
  }
}

function parsed(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS, allowPositionals: true })
  } catch (error) {
    const [sentence = ''] = (error as Error).message.split('. ')
    throw invalid(sentence.replace(/\.$/, ''))
  }
}

function invalid(why: string): FleetcronError {
  return new FleetcronError('OPTION_INVALID', `The command line is not right: ${why}; write ${USAGE}.`)
}

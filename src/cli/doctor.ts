import type { Command } from 'commander'
import { oneLine } from '../platform/told.js'
import { examinationOf } from '../store/examination.js'
import { inBusiness, makesTables } from './business.js'
import { withEffects } from './effects.js'
import { allJobs, throwIfNobody } from './find.js'
import { examine, type Facts, type Finding } from './findings.js'
import { type CommandContext, inLedger, type LedgerOptions, type OpenLedger, withLedgerOptions } from './ledger.js'
import { printJson, type Terminal } from './terminal.js'
import { pokedRuns } from './unpoked.js'
import { counted, nodeState } from './views.js'

const EXAMPLE = `
Example:
  $ fleetcron doctor --store sqlite:./ledger.db --fleet billing
  GRAVE  unhosted: Job 'billing:daily-invoices' is hosted by no live node.
         Start a node that declares it. If it is gone for good, retire it: fleet.retire(job).
  1 grave, 0 to know; 3 jobs, 2 live nodes, store sqlite (correct)`

interface DoctorOptions extends LedgerOptions {
  readonly effects?: string
}

/** Of runs and of uncertain effects so many are looked at. */
const LATEST = 1_000

/** Adds `fleetcron doctor`: what breaks fleets, each finding with its remedy. */
export function addDoctor(program: Command, { terminal, failed }: CommandContext): void {
  withEffects(
    withLedgerOptions(
      program.command('doctor').description('look for what breaks fleets; exit code 1 if something grave is found'),
    ),
  )
    .addHelpText('after', EXAMPLE)
    .action((options: DoctorOptions) =>
      inLedger(options, async (ledger) => {
        const facts = await look(ledger, options, terminal)
        const findings = examine(facts)
        if (findings.some(({ grave }) => grave)) failed()
        if (options.json === true) printJson(terminal, report(facts, findings))
        else show(facts, findings, terminal)
      }),
    )
}

async function look(ledger: OpenLedger, { effects }: DoctorOptions, terminal: Terminal): Promise<Facts> {
  const sent = terminal.now()
  const { now, nodes } = await ledger.store.load({ nodes: true })
  const received = terminal.now()
  const jobs = await allJobs(ledger)
  throwIfNobody(ledger, jobs, nodes)
  return {
    info: ledger.info,
    now,
    wallAheadMs: Math.round((sent + received) / 2 - now),
    doubtMs: Math.ceil((received - sent) / 2),
    nodes,
    jobs,
    unreadable: await unreadableOf(ledger, nodes),
    poked: await pokedRuns(ledger.store, jobs),
    latest: await ledger.store.runs({ limit: LATEST }),
    examination: await examinationOf(ledger.store),
    business: effects ? await businessOf(effects) : null,
  }
}

/** Pages leave out what cannot be read: it is asked for by the names that nodes carry and that events tell. */
async function unreadableOf({ store }: OpenLedger, nodes: Facts['nodes']): Promise<Facts['unreadable']> {
  const events = await store.events({ limit: 1_000 })
  const names = [...nodes.flatMap(({ hello }) => Object.keys(hello.manifest)), ...events.map(({ job }) => job)]
  const found = []
  const all = [...new Set(names)]
  for (let start = 0; start < all.length; start += CHUNK) {
    found.push(...(await store.load({ jobs: all.slice(start, start + CHUNK) })).unreadable)
  }
  return found
}

const CHUNK = 500

/** Where tables are missing nothing else is asked: that is a finding of its own. */
function businessOf(url: string): Promise<Facts['business']> {
  return inBusiness(url, async (effects) => {
    const missing = await effects.missing()
    const uncertain = missing.length === 0 ? await effects.uncertain(LATEST) : []
    return { missing, remedy: makesTables(url), uncertain }
  })
}

function liveNodes({ nodes, now }: Facts): number {
  return nodes.filter((node) => nodeState(node, now) === 'live').length
}

function report(facts: Facts, findings: readonly Finding[]) {
  const { info, now, jobs, wallAheadMs, examination } = facts
  const { kind, grade, remark } = info
  return {
    at: new Date(now).toISOString(),
    store: { kind, grade, remark },
    server: examination,
    wallAheadMs,
    jobs: jobs.length,
    nodes: liveNodes(facts),
    findings,
  }
}

function show(facts: Facts, findings: readonly Finding[], terminal: Terminal): void {
  for (const { finding, grave, what, remedy } of findings) {
    terminal.out(`${grave ? 'GRAVE' : 'note '}  ${finding}: ${oneLine(what)}\n       ${oneLine(remedy)}\n`)
  }
  const { info, jobs } = facts
  const grave = findings.filter((each) => each.grave).length
  const counts = `${grave} grave, ${findings.length - grave} to know; ${counted(jobs.length, 'job')}, ${counted(liveNodes(facts), 'live node')}`
  terminal.out(`${counts}, store ${info.kind} (${info.grade})\n`)
  if (info.remark !== null && info.grade === 'correct') terminal.out(`${oneLine(info.remark)}\n`)
}

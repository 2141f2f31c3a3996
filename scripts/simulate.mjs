#!/usr/bin/env node
// Runs the seeded simulation: many nodes in one process on virtual time, under random faults, with checkers.
//   npm run simulate -- --seeds 5000            seeds 1 to 5000, on every core
//   npm run simulate -- --seeds 500 --from 9001 seeds 9001 to 9500
//   npm run simulate -- --seed 7 --trace        one seed, with its history; the same seed gives the same bytes
// Ends with 1 when a rule was broken, and names the seeds; with 2 when the options are not understood.
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'

/** Seeds that a worker is given at a time. */
const CHUNK = 25
/** Broken seeds that are printed with what was seen; the others are counted. */
const SHOWN = 10

/** Most of what a simulation makes is dropped at once: with room for it, less has to be copied. */
const LIMITS = { maxYoungGenerationSizeMb: 192 }

const load = () => import('../dist/testing/simulation/simulate.js')

if (isMainThread) process.exitCode = await main()
else await work()

async function main() {
  const options = readOptions()
  if (options === null) return 2
  return options.seed === null ? runMany(options) : runOne(options)
}

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        seeds: { type: 'string' },
        from: { type: 'string', default: '1' },
        seed: { type: 'string' },
        trace: { type: 'boolean', default: false },
        workers: { type: 'string', default: String(availableParallelism()) },
        json: { type: 'boolean', default: false },
      },
    })
    const { trace, json } = values
    const seed = values.seed === undefined ? null : whole('--seed', values.seed)
    if (seed !== null && values.seeds !== undefined) throw new Error('--seed and --seeds exclude each other')
    if (trace && seed === null) throw new Error('--trace goes with --seed')
    const seeds = whole('--seeds', values.seeds ?? '1000')
    return { seeds, from: whole('--from', values.from), seed, trace, json, workers: whole('--workers', values.workers) }
  } catch (error) {
    process.stderr.write(`simulate: ${error.message.split('\n')[0]}\n`)
    return null
  }
}

function whole(option, text) {
  if (/^[1-9]\d{0,9}$/.test(text)) return Number(text)
  throw new Error(`${option} takes a whole number from 1, not '${text}'`)
}

async function runOne({ seed, trace }) {
  const { simulate } = await load()
  const report = await simulate(seed, trace ? { trace: (line) => process.stdout.write(`${line}\n`) } : {})
  printViolations(report)
  process.stdout.write(`seed ${seed}: ${report.occurrences} occurrences, ${report.violations.length} broken rules\n`)
  return report.violations.length === 0 ? 0 : 1
}

/** Hands chunks of seeds to the workers as they ask, and adds up what they report. */
async function runMany({ seeds, from, workers, json }) {
  const begun = performance.now()
  const total = { seeds: 0, occurrences: 0, fewest: Number.POSITIVE_INFINITY, events: 0, broken: [], counts: new Map() }
  const end = from + seeds
  let next = from
  await Promise.all(
    Array.from({ length: Math.min(workers, Math.ceil(seeds / CHUNK)) }, () => {
      const worker = new Worker(new URL(import.meta.url), { workerData: { simulate: true }, resourceLimits: LIMITS })
      const give = () => {
        if (next >= end) return worker.postMessage(null)
        worker.postMessage({ from: next, to: Math.min(next + CHUNK, end) })
        next += CHUNK
      }
      worker.on('message', (reports) => {
        for (const report of reports) add(total, report)
        give()
      })
      give()
      return new Promise((resolve, reject) => {
        worker.once('error', reject)
        worker.once('exit', resolve)
      })
    }),
  )
  if (total.seeds !== seeds) throw new Error(`a worker ended early: ${total.seeds} of ${seeds} seeds were run`)
  print({ ...total, seconds: Math.round((performance.now() - begun) / 1000) }, json)
  return total.broken.length === 0 ? 0 : 1
}

function add(total, { seed, occurrences, events, violations, counts }) {
  total.seeds += 1
  total.occurrences += occurrences
  total.fewest = Math.min(total.fewest, occurrences)
  total.events += events
  for (const [name, count] of counts) total.counts.set(name, (total.counts.get(name) ?? 0) + count)
  if (violations.length > 0) total.broken.push({ seed, violations })
}

function print({ seeds, occurrences, fewest, events, broken, counts, seconds }, json) {
  const sorted = [...counts].sort(([a], [b]) => (a < b ? -1 : 1))
  if (json) {
    const failed = broken.map(({ seed }) => seed).sort((a, b) => a - b)
    process.stdout.write(
      `${JSON.stringify({ seeds, occurrences, fewest, events, seconds, failed, counts: Object.fromEntries(sorted) })}\n`,
    )
    return
  }
  for (const [name, count] of sorted) process.stdout.write(`${String(count).padStart(10)}  ${name}\n`)
  for (const report of broken.sort((a, b) => a.seed - b.seed).slice(0, SHOWN)) printViolations(report)
  const verdict = broken.length === 0 ? 'every rule held' : `${broken.length} seeds broke a rule`
  process.stdout.write(
    `${seeds} seeds, ${occurrences} occurrences decided, at least ${fewest} in each, ${events} events, ${seconds} s: ${verdict}\n`,
  )
}

function printViolations({ seed, violations }) {
  for (const { rule, at, what } of violations.slice(0, 3)) {
    process.stdout.write(`seed ${seed}: ${rule} at ${new Date(at).toISOString()}: ${what}\n`)
  }
  if (violations.length > 0) process.stdout.write(`  replay: npm run simulate -- --seed ${seed} --trace\n`)
}

async function work() {
  if (!workerData?.simulate) return
  // Errors are part of the simulation, and nobody reads where they were made.
  Error.stackTraceLimit = 0
  await import('./cheap-context.mjs')
  const { simulate } = await load()
  parentPort.on('message', async (chunk) => {
    if (chunk === null) return parentPort.close()
    const reports = []
    for (let seed = chunk.from; seed < chunk.to; seed++) reports.push(await simulate(seed))
    parentPort.postMessage(reports)
  })
}

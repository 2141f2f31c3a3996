// Plays the demonstration with one seed after the other and keeps its lines of JSON, each with its seed, in
// examples/billing/results/<store>.jsonl: npm run demo:seeds -- --store postgres --seeds 1-10 [--restart-server]
// Lines of other seeds that are there already are kept. Ends with code 1 at the first seed that goes wrong.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: 'sqlite' },
    seeds: { type: 'string', default: '1-10' },
    'restart-server': { type: 'boolean', default: false },
  },
})
const [, first, last] = /^(\d+)-(\d+)$/.exec(values.seeds) ?? []
if (first === undefined || !/^[a-z]+$/.test(values.store)) {
  console.error('For example: npm run demo:seeds -- --store postgres --seeds 1-10')
  process.exit(2)
}

const demo = fileURLToPath(new URL('../examples/billing/demo.mjs', import.meta.url))
const folder = new URL('../examples/billing/results/', import.meta.url)
mkdirSync(folder, { recursive: true })
const file = new URL(`${values.store}${values['restart-server'] ? '-restarted' : ''}.jsonl`, folder)
const kept = existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : []
const results = new Map(kept.map((line) => [JSON.parse(line).seed, line]))
for (let seed = Number(first); seed <= Number(last); seed++) {
  // Seeds in a row are for whoever has time: a busy machine takes longer.
  const words = ['--store', values.store, '--seed', String(seed), '--json', '--within', '400']
  if (values['restart-server']) words.push('--restart-server')
  const { status, stdout } = spawnSync(process.execPath, [demo, ...words], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const line = stdout.trimEnd().split('\n').at(-1) ?? ''
  if (status !== 0) {
    console.error(stdout)
    console.error(`seed ${seed} ended with code ${status}`)
    process.exit(1)
  }
  const { pids, ...result } = JSON.parse(line)
  results.set(seed, JSON.stringify({ seed, ...result, processes: pids.length }))
  console.log(results.get(seed))
  const lines = [...results].sort(([a], [b]) => a - b).map(([, one]) => one)
  writeFileSync(file, `${lines.join('\n')}\n`)
}

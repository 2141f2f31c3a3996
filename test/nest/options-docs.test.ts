import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { DEFAULTS, OUTAGE_DEFAULT, POKE_DEFAULTS } from '../../src/fleet/job-options.js'
import { FLEET_DEFAULTS } from '../../src/fleet/options.js'
import { MODULE_DEFAULTS } from '../../src/nest/options.js'
import { isNode, type Node, parse } from '../architecture/source.js'

const root = join(import.meta.dirname, '../..')
const page = readFileSync(join(root, 'docs/options.md'), 'utf8')

/** The first two cells of each row under a heading. */
function table(heading: string): [option: string, standard: string][] {
  const [, section = ''] = page.split(`\n${heading}\n`)
  const [text = ''] = section.split(/\n##+ /)
  return text.split('\n').flatMap((line) => {
    const [, option = '', standard = ''] = line
      .split(' | ')
      .join('|')
      .split('|')
      .map((cell) => cell.trim())
    return option.startsWith('`') ? [[option.replaceAll('`', ''), standard] as [string, string]] : []
  })
}

/** Names of the properties that a type of the source is written with. */
function members(file: string, type: string, prefix = ''): string[] {
  const names: string[] = []
  parse({ path: file, text: readFileSync(join(root, file), 'utf8') }).walk((node, parents) => {
    const owner = parents.find(({ id }) => isNode(id) && id.name === type)
    if (node.type !== 'TSPropertySignature' || owner === undefined) return
    const key = node.key as Node
    if (typeof key.name === 'string') names.push(prefix + key.name)
  })
  return [...new Set(names)]
}

const JOBS = 'src/fleet/job-options.ts'
const NEST = 'src/nest/options.ts'
const WORDS = 'src/nest/job-words.ts'
const fromJobs = new Set([...members(JOBS, 'JobOptions'), ...members(JOBS, 'JobPolicies')])

describe('the page of options', () => {
  it.each([
    ['## Jobs', members(JOBS, 'JobOptions')],
    [
      '### Policies',
      [
        ...members(JOBS, 'JobPolicies'),
        ...members(JOBS, 'CatchUpInput', 'catchUp.'),
        ...members(JOBS, 'RetryInput', 'retry.'),
      ],
    ],
    ['## Fleet', members('src/fleet/options.ts', 'FleetOptions')],
    [
      '## NestJS module',
      [...members(NEST, 'DoorOptions'), ...members(NEST, 'FleetNamedOptions'), 'defaults.scope'].filter(
        (name) => name !== 'defaults',
      ),
    ],
    [
      '## Decorators',
      [...members(WORDS, 'NestWords'), ...members(WORDS, 'AnyJobOptions')].filter((name) => !fromJobs.has(name)),
    ],
  ])('has under %s what the source has, and nothing else', (heading, expected) => {
    expect(expected.length).toBeGreaterThan(3)
    expect(
      table(heading)
        .map(([option]) => option)
        .sort(),
    ).toEqual([...expected].sort())
  })

  it.each([
    ['### Policies', jobDefaults()],
    [
      '## Fleet',
      {
        lease: duration(FLEET_DEFAULTS.leaseMs),
        maxRuns: FLEET_DEFAULTS.maxRuns,
        retention: duration(FLEET_DEFAULTS.retentionMs),
        attends: FLEET_DEFAULTS.attends,
      },
    ],
    [
      '## NestJS module',
      {
        ...MODULE_DEFAULTS,
        scope: undefined,
        drainMs: undefined,
        drain: duration(MODULE_DEFAULTS.drainMs),
        'defaults.scope': MODULE_DEFAULTS.scope,
      },
    ],
  ])('has under %s the defaults of the source', (heading, expected: Record<string, unknown>) => {
    const rows = new Map(table(heading))
    for (const [option, value] of Object.entries(expected)) {
      if (value === undefined) continue
      const text = typeof value === 'string' ? `'${value}'` : String(value)
      expect([option, rows.get(option)]).toEqual([
        option,
        value === null ? expect.stringMatching(/^(none|never|one period)/) : `\`${text}\``,
      ])
    }
  })
})

function jobDefaults(): Record<string, unknown> {
  const { catchUp, retry, timeoutMs, graceMs, ...same } = DEFAULTS
  return {
    ...same,
    catchUp: catchUp.policy,
    'catchUp.within': catchUp.withinMs,
    'catchUp.most': catchUp.most,
    retry: retry.limit,
    'retry.delay': duration(retry.delayMs),
    'retry.factor': retry.factor,
    'retry.maxDelay': duration(retry.maxDelayMs),
    timeout: timeoutMs,
    grace: duration(graceMs),
    attend: POKE_DEFAULTS.attend,
    pokeGrace: duration(POKE_DEFAULTS.pokeGraceMs),
    onOutage: OUTAGE_DEFAULT,
  }
}

/** Days or hours where they are whole, else seconds. */
function duration(ms: number): string {
  if (ms % 86_400_000 === 0) return `${ms / 86_400_000}d`
  return ms % 3_600_000 === 0 ? `${ms / 3_600_000}h` : `${ms / 1_000}s`
}

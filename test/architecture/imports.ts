import { builtinModules } from 'node:module'
import { dirname, join } from 'node:path/posix'
import type { Import, Parsed } from './source.js'

/** What a layer may import besides itself; `*` stands for one adapter's folder, and adapters never match each other. */
interface Row {
  readonly any: readonly string[]
  /** Only by `import type`: nothing of it is loaded. */
  readonly types?: readonly string[]
}

const BASE = ['errors', 'duration']
const CORE = [
  ...BASE,
  'timer',
  'schedule',
  'ledger',
  'store/port',
  'store/resolve',
  'fleet',
  'effect/port',
  'effect',
  'index',
]
const DOORS = ['nest', 'cli', 'http', 'bullmq', 'dashboard']

/** The import table: `schedule ← ledger ← store port ← fleet ← doors`, with effect knowing the ledger's types only. */
const TABLE: Readonly<Record<string, Row>> = {
  errors: { any: [] },
  duration: { any: ['errors'] },
  timer: { any: [] },
  'sqlite-driver': { any: ['errors'] },
  bearer: { any: [] },
  schedule: { any: BASE },
  ledger: { any: [...BASE, 'schedule'] },
  'store/port': { any: BASE, types: ['ledger', 'schedule'] },
  'store/*': { any: [...BASE, 'bearer', 'store/port', 'ledger'], types: ['schedule'] },
  'store/resolve': { any: [...BASE, 'sqlite-driver', 'store/port', 'store/*'] },
  'effect/port': { any: BASE, types: ['ledger'] },
  'effect/resolve': { any: [...BASE, 'sqlite-driver', 'effect/port', 'effect', 'effect/*'] },
  effect: { any: [...BASE, 'timer', 'effect/port'], types: ['ledger'] },
  'effect/*': { any: [...BASE, 'effect/port', 'effect'], types: ['ledger'] },
  fleet: { any: [...BASE, 'timer', 'schedule', 'ledger', 'store/port', 'store/resolve'], types: ['effect/port'] },
  index: { any: CORE },
  platform: { any: [...BASE, 'schedule', 'ledger', 'fleet'] },
  nest: { any: [...CORE, 'platform'] },
  cli: { any: [...CORE, 'platform', 'store/*', 'effect/*', 'effect/resolve'] },
  http: { any: [...CORE, 'bearer', 'platform'] },
  bullmq: { any: CORE },
  dashboard: { any: CORE },
  testing: { any: [...CORE, 'store/*', 'effect/*'] },
}

/** Where a package may be named at all, in types too: a driver's name has no place in shared code. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  croner: ['schedule'],
  commander: ['cli'],
  'better-sqlite3': ['store/sqlite', 'effect/sqlite', 'sqlite-driver'],
  ioredis: ['store/resolve'],
  bullmq: ['bullmq'],
  mysql2: ['store/resolve', 'effect/resolve'],
  pg: ['store/resolve', 'effect/resolve'],
  '@nestjs/common': ['nest'],
  '@nestjs/core': ['nest'],
  '@nestjs/schedule': ['nest'],
  cron: ['nest'],
  'reflect-metadata': ['nest'],
}

/** Who may import what is only known at run time: drivers that are installed or not, and an application named on the command line. */
const DYNAMIC: ReadonlySet<string> = new Set(['sqlite-driver', 'store/resolve', 'effect/resolve', 'src/cli/app.ts'])

/** Folders of `effect` that are no adapter's. */
const SHARED_BY_EFFECTS: ReadonlySet<string> = new Set(['call', 'dialects'])

/** Files that belong to no folder of their own: everything else in `store` and `effect` is an adapter's folder. */
export function layerOf(path: string): string {
  const parts = path.replace(/^src\//, '').split('/')
  const [top = '', second = ''] = parts
  if (parts.length === 1) return top.replace(/\.ts$/, '')
  if (top !== 'store' && top !== 'effect') return top
  if (top === 'effect' && SHARED_BY_EFFECTS.has(second)) return parts[2] === 'face.ts' ? 'effect/port' : 'effect'
  if (parts.length > 2) return `${top}/${second}`
  if (top === 'store') return second === 'resolve.ts' ? 'store/resolve' : 'store/port'
  if (second === 'resolve.ts') return 'effect/resolve'
  return second === 'port.ts' ? 'effect/port' : 'effect'
}

/** Holds one file's imports against the table; each violation is a sentence. */
export function importViolations(file: Parsed, runtimePackages: ReadonlySet<string>): string[] {
  const layer = layerOf(file.path)
  const row = rowOf(layer)
  if (!row) return [`${file.path}: the import table has no row for ${layer}`]
  return file.imports.flatMap((found) => {
    const problem = found.specifier.startsWith('.')
      ? relativeProblem(file.path, layer, row, found)
      : packageProblem(file.path, layer, found, runtimePackages)
    return problem ? [`${file.path}: ${problem}`] : []
  })
}

function relativeProblem(path: string, layer: string, row: Row, found: Import): string | null {
  const target = join(dirname(path), found.specifier)
  if (!target.startsWith('src/')) return `imports ${found.specifier}, which is outside src`
  const wanted = layerOf(target.replace(/\.js$/, '.ts'))
  if (wanted === layer || row.any.some((pattern) => matches(pattern, wanted))) return null
  const asType = row.types?.some((pattern) => matches(pattern, wanted)) === true
  if (asType && found.typeOnly) return null
  return asType ? `${layer} may import only types of ${wanted}` : `${layer} must not import ${wanted}`
}

function packageProblem(
  path: string,
  layer: string,
  found: Import,
  runtimePackages: ReadonlySet<string>,
): string | null {
  const { specifier } = found
  if (found.dynamic && !DYNAMIC.has(layer === 'cli' ? path : layer)) {
    return `imports ${specifier} dynamically; only src/store/resolve.ts, src/effect/resolve.ts and src/sqlite-driver.ts do that, and src/cli/app.ts for the user's own module`
  }
  if (specifier === '<computed>') return null
  if (specifier.startsWith('node:')) return null
  if (builtinModules.includes(specifier)) return `imports ${specifier} without node:`
  const name = packageOf(specifier)
  if (!runtimePackages.has(name)) return `imports ${name}, which is neither a dependency nor an optional peer`
  const homes = PACKAGES[name]
  if (!homes) return `imports ${name}: say in the table of packages which layer may name it`
  return homes.includes(layer) ? null : `${layer} must not name ${name}, not even its types`
}

function rowOf(layer: string): Row | undefined {
  const exact = TABLE[layer]
  if (exact) return exact
  const [top] = layer.split('/')
  return layer.includes('/') ? TABLE[`${top}/*`] : undefined
}

/** `store/*` is any adapter, but neither the port nor the resolver. */
function matches(pattern: string, layer: string): boolean {
  if (!pattern.endsWith('/*')) return pattern === layer
  return layer.startsWith(pattern.slice(0, -1)) && TABLE[layer] === undefined
}

function packageOf(specifier: string): string {
  const [first = '', second = ''] = specifier.split('/')
  return first.startsWith('@') ? `${first}/${second}` : first
}

/** Doors do not know each other, and nothing knows testing: said by the table, checked here so that no row slips in. */
export function tableViolations(): string[] {
  return Object.entries(TABLE).flatMap(([layer, row]) => {
    const wrong = [...row.any, ...(row.types ?? [])].filter((name) => name === 'testing' || DOORS.includes(name))
    return wrong.map((name) => `the row of ${layer} lets it import ${name}`)
  })
}

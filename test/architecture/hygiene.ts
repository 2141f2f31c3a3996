import { isNode, type Node, type Parsed } from './source.js'

const MAX_FILE_LINES = 300
const MAX_FUNCTION_LINES = 70

const IMPURE = new Set([
  'process',
  'performance',
  'crypto',
  'console',
  'fetch',
  'globalThis',
  'setTimeout',
  'setInterval',
  'setImmediate',
  'queueMicrotask',
])
const TIMERS = new Set(['setTimeout', 'setInterval'])
const SLEEPS = new Set(['sleep', 'delay', 'wait'])
const TEST_FUNCTIONS = new Set(['it', 'test', 'describe', 'suite'])
const LEFT_OUT = new Set(['skip', 'only', 'todo', 'skipIf', 'runIf', 'fails'])
const FUNCTIONS = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'])

/** Rules for every file: length. */
/** A checker is one closure: what it remembers and the small rules that share it. Its inner functions are short. */
const CLOSURES = 'src/testing/simulation/checkers/'

export function sizeViolations(file: Parsed): string[] {
  const lines = file.text.split('\n').length - (file.text.endsWith('\n') ? 1 : 0)
  return lines > MAX_FILE_LINES ? [`${file.path}: ${lines} lines, more than ${MAX_FILE_LINES}`] : []
}

/** Rules for what is shipped: named exports one by one, short functions, no effect at import (`mayAct`: the command line). */
export function shippedViolations(file: Parsed, mayAct: boolean): string[] {
  const found: string[] = []
  const say = (node: Node, what: string) => found.push(`${at(file, node)}: ${what}`)
  for (const statement of file.body) {
    if (statement.type === 'ExportAllDeclaration') say(statement, 'export *; name what is exported')
    if (statement.type === 'ExportDefaultDeclaration') say(statement, 'a default export; exports have names')
    if (!mayAct && actsAtImport(statement)) say(statement, 'does something when it is imported')
  }
  file.walk((node) => {
    if (node.type === 'ImportDeclaration' && names(node).includes('createRequire')) {
      say(node, 'createRequire; only src/store/resolve.ts loads what may be missing')
    }
    if (!FUNCTIONS.has(node.type) || file.path.startsWith(CLOSURES)) return
    const lines = file.line(node.end) - file.line(node.start) + 1
    if (lines > MAX_FUNCTION_LINES) say(node, `a function of ${lines} lines, more than ${MAX_FUNCTION_LINES}`)
  })
  return found
}

/** Rules for schedule and ledger: no clock, chance, process or I/O. Types of node: modules vanish and are let through. */
export function purityViolations(file: Parsed): string[] {
  const found: string[] = []
  const say = (node: Node, what: string) => found.push(`${at(file, node)}: ${what}`)
  for (const { specifier, typeOnly } of file.imports) {
    if (specifier.startsWith('node:') && !typeOnly) found.push(`${file.path}: imports ${specifier}`)
  }
  file.walk((node, parents) => {
    const clock = isMember(node, 'Date', 'now') || isMember(node, 'Math', 'random')
    if (clock) say(node, file.text.slice(node.start, node.end))
    const bareDate = named(node.callee) === 'Date' && (node.type === 'CallExpression' || isEmpty(node.arguments))
    if (bareDate) say(node, 'Date without an argument reads the clock')
    const name = reference(node, parents)
    if (name && IMPURE.has(name)) say(node, name)
  })
  return found
}

/** Rules for tests: nothing left out, nothing that waits for time to pass. */
export function testViolations(file: Parsed): string[] {
  const found: string[] = []
  const say = (node: Node, what: string) => found.push(`${at(file, node)}: ${what}`)
  for (const { specifier, names } of file.imports) {
    const timers = specifier.replace(/^node:/, '')
    if (timers === 'timers/promises' || (timers === 'timers' && names.some((name) => TIMERS.has(name)))) {
      found.push(`${file.path}: imports ${specifier}; await an event or turn a clock`)
    }
  }
  file.walk((node, parents) => {
    const member = named(node.property)
    if (node.type === 'MemberExpression' && member && LEFT_OUT.has(member) && TEST_FUNCTIONS.has(rootOf(node))) {
      say(node, `${rootOf(node)}.${member}; a test that does not run proves nothing`)
    }
    const waits = isMember(node, 'Atomics', 'wait') || [...TIMERS].some((timer) => isMember(node, 'globalThis', timer))
    if (waits) say(node, `${file.text.slice(node.start, node.end)}; await an event or turn a clock`)
    const name = reference(node, parents) ?? ''
    const sleeps = SLEEPS.has(name) && parents.at(-1)?.callee === node
    if (TIMERS.has(name) || sleeps) say(node, `${name}; await an event or turn a clock`)
  })
  return found
}

function at(file: Parsed, node: Node): string {
  return `${file.path}:${file.line(node.start)}`
}

/** A statement of its own, a loop, a condition or an `await` at the top level runs on import; a directive does not. */
function actsAtImport(statement: Node): boolean {
  if (statement.type === 'ImportDeclaration') return (statement.specifiers as readonly Node[]).length === 0
  if (statement.type === 'ExpressionStatement') return typeof statement.directive !== 'string'
  return /^(If|For|ForOf|ForIn|While|DoWhile|Try|Switch|Block)Statement$/.test(statement.type)
}

/** The name of an identifier that stands for a value, null for a property, a key or a name in a declaration of a type. */
function reference(node: Node, parents: readonly Node[]): string | null {
  const name = node.type === 'Identifier' ? named(node) : null
  const parent = parents.at(-1)
  if (!name || !parent) return name
  if (parent.type === 'MemberExpression') return parent.property === node && parent.computed !== true ? null : name
  if (parent.type.startsWith('TS')) return parent.type === 'TSTypeQuery' ? null : asExpression(parent, name)
  const isKey = parent.key === node && parent.computed !== true
  return isKey && parent.shorthand !== true ? null : name
}

/** `process as X` and `process!` read the value; every other TypeScript node only names something. */
function asExpression(parent: Node, name: string): string | null {
  return /^TS(As|Satisfies|NonNull|TypeAssertion)/.test(parent.type) ? name : null
}

function isMember(node: Node, object: string, property: string): boolean {
  return node.type === 'MemberExpression' && named(node.object) === object && named(node.property) === property
}

function rootOf(node: Node): string {
  let inner: unknown = node
  while (isNode(inner) && (inner.type === 'MemberExpression' || inner.type === 'CallExpression')) {
    inner = inner.type === 'CallExpression' ? inner.callee : inner.object
  }
  return named(inner) ?? ''
}

function names(declaration: Node): string[] {
  return (declaration.specifiers as readonly Node[]).map((specifier) => named(specifier.imported) ?? '')
}

function named(value: unknown): string | null {
  return isNode(value) && typeof value.name === 'string' ? value.name : null
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}

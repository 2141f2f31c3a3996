import { parseSync } from 'oxc-parser'

/** One source file, by its path from the package's root. */
export interface SourceFile {
  readonly path: string
  readonly text: string
}

/** One way in which a file names another module. */
export interface Import {
  readonly specifier: string
  /** Vanishes when compiled: `import type`, `export type … from`, `import('…')` in a type. */
  readonly typeOnly: boolean
  readonly dynamic: boolean
  /** Imported for its side effect: `import './x.js'`. */
  readonly bare: boolean
  readonly names: readonly string[]
}

/** A node of the syntax tree, as far as the rules look at it. */
export interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [field: string]: unknown
}

export interface Parsed extends SourceFile {
  readonly body: readonly Node[]
  readonly imports: readonly Import[]
  line(offset: number): number
  /** Calls `visit` for every node with its parents, the nearest one last. */
  walk(visit: (node: Node, parents: readonly Node[]) => void): void
}

/** Parses a file; a syntax error is thrown, since a file that is not understood proves nothing. */
export function parse(file: SourceFile): Parsed {
  const { program, errors } = parseSync(file.path, file.text)
  const [error] = errors
  if (error) throw new Error(`${file.path} does not parse: ${error.message}`)
  const root = program as unknown as Node
  const walk: Parsed['walk'] = (visit) => walkNode(root, [], visit)
  const imports: Import[] = []
  walk((node) => {
    const found = importOf(node)
    if (found) imports.push(found)
  })
  return {
    ...file,
    body: root.body as readonly Node[],
    imports,
    walk,
    line: (offset) => file.text.slice(0, offset).split('\n').length,
  }
}

export function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && typeof (value as Node).type === 'string'
}

function walkNode(node: Node, parents: Node[], visit: (node: Node, parents: readonly Node[]) => void): void {
  visit(node, parents)
  parents.push(node)
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) {
      if (isNode(child)) walkNode(child, parents, visit)
    }
  }
  parents.pop()
}

function importOf(node: Node): Import | null {
  const base = { dynamic: false, bare: false, names: [] }
  switch (node.type) {
    case 'ImportDeclaration': {
      const specifiers = node.specifiers as readonly Node[]
      const typeOnly = node.importKind === 'type' || (specifiers.length > 0 && specifiers.every(isTypeSpecifier))
      const names = specifiers.map((specifier) => nameOf(specifier.imported) ?? 'default')
      return { ...base, specifier: text(node.source), typeOnly, bare: specifiers.length === 0, names }
    }
    case 'ExportNamedDeclaration': {
      if (!isNode(node.source)) return null
      const specifiers = node.specifiers as readonly Node[]
      const typeOnly = node.exportKind === 'type' || (specifiers.length > 0 && specifiers.every(isTypeSpecifier))
      return { ...base, specifier: text(node.source), typeOnly }
    }
    case 'ExportAllDeclaration':
      return { ...base, specifier: text(node.source), typeOnly: node.exportKind === 'type' }
    case 'ImportExpression':
      return { ...base, specifier: text(node.source), typeOnly: false, dynamic: true }
    case 'TSImportType':
      return { ...base, specifier: text(node.source), typeOnly: true }
    case 'TSImportEqualsDeclaration': {
      const reference = node.moduleReference as Node
      if (reference.type !== 'TSExternalModuleReference') return null
      return { ...base, specifier: text(reference.expression), typeOnly: node.importKind === 'type' }
    }
    default:
      return null
  }
}

function isTypeSpecifier(specifier: Node): boolean {
  return specifier.importKind === 'type' || specifier.exportKind === 'type'
}

function nameOf(node: unknown): string | null {
  return isNode(node) && typeof node.name === 'string' ? node.name : null
}

/** A specifier that is not a literal, such as a variable, is shown as `<computed>`: it can be anything. */
function text(source: unknown): string {
  return isNode(source) && typeof source.value === 'string' ? source.value : '<computed>'
}

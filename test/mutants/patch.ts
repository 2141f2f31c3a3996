import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const FOLDER = fileURLToPath(new URL('.', import.meta.url))

/** A defect put into the source on purpose: a sentence that says which, and unified diffs. */
export interface Mutant {
  readonly name: string
  readonly title: string
  readonly text: string
}

export function mutants(): Mutant[] {
  const files = readdirSync(FOLDER).filter((file) => file.endsWith('.patch'))
  return files.sort().map((file) => {
    const text = readFileSync(join(FOLDER, file), 'utf8')
    return { name: file.replace(/\.patch$/, ''), title: text.slice(0, text.indexOf('\n')), text }
  })
}

/**
 * Applies a patch to a copy of the package. Line numbers are not looked at, so that a file may grow around a patch: what a
 * hunk takes away, with its context, must stand in the file exactly once.
 */
export function applyPatch(root: string, { name, text }: Mutant): void {
  let file = ''
  for (const part of text.split(/^(?=--- a\/|@@ )/m).slice(1)) {
    const lines = part.split('\n').slice(0, -1)
    if (part.startsWith('--- a/')) {
      file = lines[0]?.slice('--- a/'.length) ?? ''
      continue
    }
    const body = lines.slice(1)
    const side = (mark: '-' | '+') =>
      `${body
        .filter((line) => line[0] === mark || line[0] === ' ')
        .map((line) => line.slice(1))
        .join('\n')}\n`
    const path = join(root, file)
    const before = readFileSync(path, 'utf8')
    const [first, ...others] = before.split(side('-'))
    if (others.length !== 1) {
      throw new Error(`${name}.patch fits ${file} in ${others.length} places: write it anew for the source as it is`)
    }
    writeFileSync(path, `${first}${side('+')}${others[0]}`)
  }
}

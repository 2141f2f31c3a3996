import { readdirSync, readFileSync } from 'node:fs'
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
 * What the files that a patch changes read with it, by their paths. Line numbers are not looked at, so that a file may grow
 * around a patch: what a hunk takes away, with its context, must stand in the file exactly once.
 */
export function patched(root: string, { name, text }: Mutant): ReadonlyMap<string, string> {
  const files = new Map<string, string>()
  let path = ''
  for (const part of text.split(/^(?=--- a\/|@@ )/m).slice(1)) {
    const lines = part.split('\n').slice(0, -1)
    if (part.startsWith('--- a/')) {
      path = join(root, lines[0]?.slice('--- a/'.length) ?? '')
      continue
    }
    const body = lines.slice(1)
    const side = (mark: '-' | '+') =>
      `${body
        .filter((line) => line[0] === mark || line[0] === ' ')
        .map((line) => line.slice(1))
        .join('\n')}\n`
    const [first, ...others] = (files.get(path) ?? readFileSync(path, 'utf8')).split(side('-'))
    if (others.length !== 1) {
      throw new Error(`${name}.patch fits ${path} in ${others.length} places: write it anew for the source as it is`)
    }
    files.set(path, `${first}${side('+')}${others[0]}`)
  }
  return files
}

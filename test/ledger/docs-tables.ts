import { TRANSITIONS } from '../../src/ledger/index.js'
import { CATCH_UP, FOUND, type Found, FRESH, HOLDERS, type Holder, PASSED } from './policy-table.js'

/** The parts of docs/ledger.md that are made from the source and from the tested tables. */

/** Rows go down and columns across, as a table of Markdown. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

/** The states of a run as a diagram that Markdown readers draw. */
export function diagram(): string {
  const name = (state: string | null): string => state ?? '[*]'
  const steps = new Map<string, string[]>()
  for (const { from, event, to } of TRANSITIONS) {
    const edge = `${name(from)} --> ${to}`
    steps.set(edge, [...(steps.get(edge) ?? []), event])
  }
  const ends = new Set<string>(TRANSITIONS.map(({ to }) => to))
  for (const { from, to } of TRANSITIONS) if (from !== null && from !== to) ends.delete(from)
  return [
    '```mermaid',
    'stateDiagram-v2',
    ...[...steps].map(([edge, events]) => `    ${edge} : ${events.join(' / ')}`),
    ...[...ends].map((state) => `    ${state} --> [*]`),
    '```',
  ].join('\n')
}

/** What becomes of a fresh occurrence. */
export function freshTable(): string {
  const overlaps = ['skip', 'wait', 'merge', 'replace'] as const
  const cell = (holder: Holder, overlap: (typeof overlaps)[number]): string => {
    const fate = FRESH[holder][overlap]
    return fate.holder === 'goes on' ? fate.row : `${fate.row}; the holder ${fate.holder}`
  }
  return table(
    ['the place is held by', ...overlaps.map((overlap) => `\`${overlap}\``)],
    (Object.keys(HOLDERS) as Holder[]).map((holder) => [HOLDERS[holder], ...overlaps.map((one) => cell(holder, one))]),
  )
}

/** What becomes of what passed, by example. */
export function passedTable(): string {
  const policies = ['merge', 'each', 'skip'] as const
  const cell = (policy: (typeof policies)[number], found: Found): string => {
    const { rows, joined } = PASSED[policy][found]
    const { fresh } = FOUND[found]
    const apart = fresh === null || joined ? [] : [`${fresh} is fresh: see above`]
    return [...rows, ...apart].join('<br>')
  }
  const head = policies.map((policy) => {
    const { withinMs, most } = CATCH_UP[policy]
    return policy === 'each' ? `\`each\`, within ${(withinMs ?? 0) / 3_600_000} h, most ${most}` : `\`${policy}\``
  })
  return table(
    ['found due', ...head],
    (Object.keys(FOUND) as Found[]).map((found) => {
      const { at } = FOUND[found]
      return [`${found} (attended at ${at})`, ...policies.map((policy) => cell(policy, found))]
    }),
  )
}

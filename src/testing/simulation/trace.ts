import type { Observation, RowChange } from './observations.js'

/** One line for one observation: the same observation always gives the same line. */
export function traceLine(start: number, seen: Observation): string {
  const head = `+${((seen.at - start) / 1000).toFixed(3)}`
  const { at: _, kind, ...rest } = seen
  const who = 'process' in seen ? `${seen.process} ` : ''
  return `${head} ${who}${kind}${detail(rest)}`
}

function detail(fields: object): string {
  let text = ''
  for (const [name, value] of Object.entries(fields)) {
    if (name === 'process') continue
    const shown = FORMATS[name]?.(value) ?? plain(value)
    if (shown !== null) text += ` ${name}=${shown}`
  }
  return text
}

function plain(value: unknown): string | null {
  if (value === null) return 'null'
  if (typeof value === 'object') return JSON.stringify(value)
  if (value === false) return null
  return String(value)
}

// biome-ignore lint/suspicious/noExplicitAny: each format belongs to one field of the observations.
const FORMATS: Readonly<Record<string, (value: any) => string | null>> = {
  session: (session) => (typeof session === 'string' ? session : session.id),
  reply: ({ alive, known, jobs, gone, strays, nextWakeAt, ended }) =>
    JSON.stringify({
      alive,
      known,
      jobs: jobs?.map((job: { header: { job: string } }) => job.header.job),
      ended: ended && [...ended.keys()],
      gone,
      strays: strays?.map((run: { key: string }) => run.key),
      nextWakeAt,
    }),
  beat: ({ attempts, end }) => JSON.stringify({ attempts, end }),
  changes: (changes: readonly { id: string; job: string }[]) => changes.map(({ id, job }) => `${job}@${id}`).join(),
  committed: (committed) =>
    committed.expired
      ? 'expired'
      : committed.results.map((result: object) => Object.values(result).join(' ')).join('; '),
  settlements: (all: readonly { job: string; key: string; token: number }[]) =>
    all.map(({ job, key, token }) => `${job}/${key}#${token}`).join(),
  rows: (rows: readonly RowChange[]) => (rows.length === 0 ? null : rows.map(rowText).join('; ')),
  jobs: (
    jobs: readonly {
      job: string
      after: { header: { wakeAt: number | null; cursor: object; definition: string } } | null
    }[],
  ) =>
    jobs
      .map(
        ({ job, after }) =>
          `${job} wakeAt=${after?.header.wakeAt} cursor=${JSON.stringify(after?.header.cursor)} ${after?.header.definition.slice(0, 6)}`,
      )
      .join('; '),
}

function rowText({ job, key, before, after }: RowChange): string {
  const { covers, reason, attempt = 0, token, repeats, recoveries, retries, stop } = after ?? {}
  const range = covers ? ` ${covers.from}..${covers.to}*${covers.count}` : ''
  const charge = `${retries}/${recoveries}/${repeats}`
  return `${job}/${key} ${before?.state ?? '-'}→${after?.state ?? '-'}${range} ${after?.cause} ${reason ?? ''} #${attempt} ${token} ${charge}${stop ? ' stop' : ''}`
}

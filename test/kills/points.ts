/** Where a process is killed: at every boundary of an effect in the business database, and of a call at a provider. */
export const ONCE_POINTS = ['before-begin', 'inside', 'before-commit', 'after-commit'] as const
export const CALL_POINTS = [
  'before-intent',
  'after-intent',
  'in-send',
  'provider-committed',
  'before-confirm',
  'after-confirm',
] as const

/** What the provider offers; see docs/providers.md. */
export const GRADES = ['keyed', 'look-up', 'neither'] as const
export type Grade = (typeof GRADES)[number]

/** One effect of the round, and where its first process is killed. */
export type Unit =
  | { readonly key: string; readonly kind: 'once'; readonly point: (typeof ONCE_POINTS)[number] }
  | { readonly key: string; readonly kind: Grade; readonly point: (typeof CALL_POINTS)[number] }

/** How many boundaries there are: a round of as many kills dies at each once. */
export const BOUNDARIES = ONCE_POINTS.length + GRADES.length * CALL_POINTS.length

/** The units of a round, one for each kill: all points in turn. */
export function unitsOf(kills: number): readonly Unit[] {
  const points: Omit<Unit, 'key'>[] = [
    ...ONCE_POINTS.map((point) => ({ kind: 'once', point }) as const),
    ...GRADES.flatMap((kind) => CALL_POINTS.map((point) => ({ kind, point }) as const)),
  ]
  return Array.from({ length: kills }, (_, i) => {
    const point = points[i % points.length] as Omit<Unit, 'key'>
    return { ...point, key: `${point.kind}:${i}` } as Unit
  })
}

/** What a worker is started with, as JSON. */
export interface WorkerConfig {
  readonly database: string
  readonly provider: string
}

/** What a worker is told when its turn has come, as a line of JSON on its standard input. */
export interface Turn {
  /** The first unit of this process, and how many there are. */
  readonly from: number
  readonly count: number
  /** Whether the process before was killed in the first one: it is finished, and nobody is killed in it again. */
  readonly finishes: boolean
  /** Grows from process to process, as an attempt's does. */
  readonly token: number
}

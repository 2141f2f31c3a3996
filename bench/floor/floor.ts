/**
 * What an engine does for plain statements by its bare driver: claim and complete of one occurrence are two writes, with the
 * engine's default durability. Nothing is checked but that the claim was won.
 */
export interface Floor {
  /** Claims and completes occurrences of these numbers by two statements. */
  batch(connection: number, numbers: readonly number[]): Promise<void>
  /** The same for one. */
  single(connection: number, number: number): Promise<void>
  /** Connections that a batch, and that a single one, may use at most. */
  readonly batchConnections: number
  readonly singleConnections: number
  end(): Promise<void>
}

const BATCH = 100

/** Occurrences per second by batches of 100: the best of 1 and of all connections. */
export async function batchedRate(floor: Floor, ms: number): Promise<number> {
  const few = await rate(1, ms, BATCH, (connection, numbers) => floor.batch(connection, numbers))
  if (floor.batchConnections === 1) return few
  const many = await rate(floor.batchConnections, ms, BATCH, (connection, numbers) => floor.batch(connection, numbers))
  return Math.max(few, many)
}

/** Occurrences per second one by one, 16 in flight where the engine takes them so. */
export function singleRate(floor: Floor, ms: number): Promise<number> {
  return rate(floor.singleConnections, ms, 1, (connection, [number = 0]) => floor.single(connection, number))
}

let last = 0

async function rate(
  connections: number,
  ms: number,
  size: number,
  act: (connection: number, numbers: readonly number[]) => Promise<void>,
): Promise<number> {
  const began = performance.now()
  let done = 0
  const line = async (connection: number) => {
    while (performance.now() - began < ms) {
      const numbers = Array.from({ length: size }, () => ++last)
      await act(connection, numbers)
      done += size
    }
  }
  await Promise.all(Array.from({ length: connections }, (_, connection) => line(connection)))
  return (done / (performance.now() - began)) * 1_000
}

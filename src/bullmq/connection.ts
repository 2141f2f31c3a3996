import type { ConnectionOptions } from 'bullmq'

/** Between two tries to reach Redis, at most. */
const RETRY_MOST_MS = 5_000

/**
 * The connection with which BullMQ is given, told to try no more once the signal fires: a Redis that is away would keep the process
 * from ending. A client that somebody has made is left as it is.
 */
export function endsWith(connection: ConnectionOptions, ending: AbortSignal): ConnectionOptions {
  if ('duplicate' in connection && typeof connection.duplicate === 'function') return connection
  const given: unknown = 'retryStrategy' in connection ? connection.retryStrategy : undefined
  const retry = typeof given === 'function' ? given : (times: number) => Math.min(RETRY_MOST_MS, times * 500)
  return {
    ...connection,
    retryStrategy: (times: number) => (ending.aborted ? null : retry(times)),
  } as ConnectionOptions
}

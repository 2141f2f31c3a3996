import { hash32 } from './text.js'
import type { Retry, Run } from './types.js'

/**
 * How long the next attempt waits: `delay · factor^n`, at most `maxDelay`, less up to a quarter of jitter. The jitter is
 * a function of the run and its count, so that every node and every replay computes the same.
 */
export function retryDelayMs(run: Pick<Run, 'job' | 'key' | 'retries'>, retry: Retry): number {
  const grown = retry.delayMs * Math.min(retry.factor ** run.retries, Number.MAX_SAFE_INTEGER)
  const full = Math.min(retry.maxDelayMs, grown)
  const jitter = (hash32(`${run.job}\n${run.key}\n${run.retries}`) % 1024) / 4096
  return Math.round(full * (1 - jitter))
}

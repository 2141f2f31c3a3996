/** Node's timers overflow beyond this and fire at once. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1

export interface LongTimer {
  cancel(): void
}

/** Delays beyond what Node's timers hold are waited for in several arms. `unref`: it keeps no process alive. */
export function longTimer(delayMs: number, fn: () => void, { unref }: { readonly unref: boolean }): LongTimer {
  let left = Math.max(1, Math.ceil(delayMs))
  let timer: NodeJS.Timeout
  const arm = () => {
    const now = Math.min(LONGEST_TIMER_MS, left)
    left -= now
    timer = setTimeout(left > 0 ? arm : fn, now)
    if (unref) timer.unref()
  }
  arm()
  return { cancel: () => clearTimeout(timer) }
}

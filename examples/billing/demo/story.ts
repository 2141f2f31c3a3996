import type { Heard } from './stage.js'

const NAME_WIDTH = 3

/** Prints what happens, as it happens: seconds since the start, the node, what it does. */
export class Story {
  private readonly startedAt = performance.now()

  constructor(private readonly print: (line: string) => void) {}

  say(who: string, what: string): void {
    const seconds = ((performance.now() - this.startedAt) / 1000).toFixed(2)
    this.print(`${seconds.padStart(6)} s  ${who.padEnd(NAME_WIDTH)} ${what}`)
  }

  /** A node's own news. Single invoices are not told. */
  hear(heard: Heard): void {
    const what = newsOf(heard)
    if (what !== null) this.say(heard.node.name, what)
  }
}

function newsOf(heard: Heard): string | null {
  switch (heard.type) {
    case 'ready':
      return `is up (process ${heard.node.pid})`
    case 'began':
      return `period ${clockOf(heard.period)}  ${heard.attempt > 1 ? `TAKES OVER, attempt ${heard.attempt}` : 'begins'}`
    case 'ended':
      return `period ${clockOf(heard.period)}  ${heard.outcome}`
    case 'refused':
      return `period ${clockOf(heard.period)}  LATE WRITE REFUSED by the ${heard.by}: ${shortened(heard.why)}`
    default:
      return null
  }
}

/** The first sentence, without the job and the run, which the line names already. */
function shortened(why: string): string {
  return why.replace(/^Job '.*?', run '.*?':? /, '').replace(/\. .*$|\.$/s, '')
}

/** The time of day of a period: `2026-11-29T16:45:02Z` is 16:45:02. */
export function clockOf(period: string): string {
  const time = period.slice(11, -1)
  return time.length === 5 ? `${time}:00` : time
}

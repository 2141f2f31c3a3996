import type { Fleet } from '../fleet/fleet.js'
import { closest, didYouMean } from '../fleet/option-values.js'
import type { ResolvedHttp } from './options.js'

/**
 * A name in `jobs` that no node has defined is most often misspelt. It is told once this node's own jobs are defined, and is no
 * error: the node that defines the job may start later.
 */
export function tellUnknownJobs(door: ResolvedHttp, fleet: Fleet): void {
  const { jobs, log } = door
  if (jobs === null) return
  const tell = async () => {
    const known = new Set((await fleet.jobs()).flatMap(({ job, name }) => [job, name]))
    for (const name of jobs) {
      if (known.has(name)) continue
      const hint = didYouMean(quoted(closest(name, [...known])))
      log(
        `the HTTP door: jobs names '${name}', which no node has defined.${hint} Until one does, requests for it are answered 404.`,
      )
    }
  }
  // A store that is away is told by the fleet itself.
  const look = () => void tell().catch(() => undefined)
  if (fleet.health()?.state === 'running') look()
  else {
    const forget = fleet.on('started', () => {
      forget()
      look()
    })
  }
}

function quoted(word: string | undefined): string | undefined {
  return word === undefined ? undefined : `'${word}'`
}

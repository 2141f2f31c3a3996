import { parseDuration } from '../duration.js'
import { FleetcronError } from '../errors.js'
import type { Fleet } from '../fleet/fleet.js'
import { closest, didYouMean } from '../fleet/option-values.js'
import { NONCE } from '../fleet/request-id.js'
import { isLive } from '../ledger/index.js'
import type { Run } from '../ledger/types.js'
import { runView } from '../platform/run-view.js'
import { type Admitted, applicantOf } from './admission.js'
import { type Asked, askedOf, bodyOf } from './body.js'
import { type HttpOptions, type ResolvedHttp, resolveHttp } from './options.js'
import { jsonResponse, Problem, problemOf, problemResponse } from './problem.js'
import { runId, runOf } from './run-id.js'
import { KEY } from './signature.js'
import { tellUnknownJobs } from './unknown-jobs.js'

/** Answers requests; `path` is where its routes begin. Never rejects. */
export interface HttpHandler {
  (request: Request): Promise<Response>
  readonly path: string
}

/**
 * Makes the HTTP door of a fleet: `POST <path>/jobs/:name/runs` and `GET <path>/runs/:id`, for whoever signs or has a token.
 *
 * @example
 * const handler = createHttpHandler(fleet, { secrets: [process.env.FLEET_SECRET] })
 * createServer(toNodeHandler(handler)).listen(3000)
 * @throws FleetcronError `OPTION_INVALID`, also where no secret and no token is given
 */
export function createHttpHandler(fleet: Fleet, options: HttpOptions): HttpHandler {
  const door = resolveHttp(options)
  tellUnknownJobs(door, fleet)
  const answer = async (request: Request) => {
    try {
      return await new Visit(door, fleet, request).answer()
    } catch (error) {
      return problemResponse(problemOf(error, door.log))
    }
  }
  return Object.assign(answer, { path: door.path })
}

/** One request: who asks, then what for. */
class Visit {
  private readonly url: URL

  constructor(
    private readonly door: ResolvedHttp,
    private readonly fleet: Fleet,
    private readonly request: Request,
  ) {
    this.url = new URL(request.url)
  }

  async answer(): Promise<Response> {
    const { pathname, search } = this.url
    const applicant = applicantOf(this.door, this.request, pathname + search)
    const body = await bodyOf(this.request)
    // Whoever is not let in learns nothing, not even whether there is such a path.
    const admitted = applicant.admit(body)
    const [kind = '', name = '', last, ...rest] = this.words()
    if (kind === 'jobs' && last === 'runs' && rest.length === 0) {
      this.allow('POST')
      return this.start(name, admitted, askedOf(body))
    }
    if (kind === 'runs' && last === undefined) {
      this.allow('GET')
      return this.show(name)
    }
    throw pathUnknown(this.door.path)
  }

  private words(): string[] {
    const { path } = this.door
    if (!this.url.pathname.startsWith(`${path}/`)) throw pathUnknown(path)
    try {
      return this.url.pathname
        .slice(path.length + 1)
        .split('/')
        .map(decodeURIComponent)
    } catch {
      throw pathUnknown(path)
    }
  }

  private allow(method: string): void {
    if (this.request.method === method) return
    throw new Problem(405, 'METHOD_UNKNOWN', `This path is asked by ${method}.`, { allow: method })
  }

  private async start(job: string, admitted: Admitted, asked: Asked): Promise<Response> {
    if (this.door.jobs !== null && !this.door.jobs.has(job)) throw jobUnknown(job)
    const waitMs = this.waitMs()
    try {
      const run =
        asked.occurrence === undefined
          ? await this.trigger(job, admitted, asked.data)
          : await this.poke(job, asked.occurrence)
      return run === null ? new Response(null, { status: 204 }) : this.answerRun(run, waitMs)
    } catch (error) {
      // The fleet's own words may name other jobs.
      throw error instanceof FleetcronError && error.code === 'JOB_UNKNOWN' ? jobUnknown(job) : error
    }
  }

  private trigger(job: string, { by, key, nonce }: Admitted, data: unknown): Promise<Run> {
    if (key === null && nonce === null) {
      const message = 'A run of its own needs an Idempotency-Key, so that a repeat of the request starts nothing twice.'
      throw new Problem(400, 'KEY_MISSING', message)
    }
    if (key !== null && !KEY.test(key)) {
      throw new Problem(400, 'OPTION_INVALID', 'An Idempotency-Key has 1 to 255 visible ASCII characters.')
    }
    const keys = { ...(key === null ? {} : { key }), ...(nonce === null ? {} : { [NONCE]: nonce }) }
    return this.fleet.trigger(job, { data, by: `http (${by})`, ...keys })
  }

  /** What became of the occurrence; null: `due`, and none has been due yet. */
  private async poke(job: string, key: string): Promise<Run | null> {
    const runs = await this.fleet.poke(job)
    const there = key === 'due' ? runs[0] : runs.find((one) => one.key === key)
    const run = there ?? (key === 'due' ? null : await this.fleet.occurrence(job, key))
    if (run !== null) return run
    await this.throwIfNeverDue(job)
    if (key === 'due') return null
    const message = `Nothing is decided about occurrence '${key}': it is not due yet, none of the schedule's, or pruned.`
    throw new Problem(404, 'OCCURRENCE_UNKNOWN', message)
  }

  /** Whoever waits for an occurrence of a job on request waits for ever. */
  private async throwIfNeverDue(job: string): Promise<void> {
    const own = this.fleet.health()?.service
    const found = (await this.fleet.jobs()).find((one) => one.job === job || (one.name === job && one.service === own))
    if (found?.schedule !== null) return
    const message = `Job '${job}' has no schedule, so nothing of it is ever due: leave occurrence out, for a run of its own.`
    throw new Problem(404, 'OCCURRENCE_UNKNOWN', message)
  }

  private async show(id: string): Promise<Response> {
    const ref = runOf(id)
    if (ref === null || !(await this.isOpen(ref.job)))
      throw new Problem(404, 'RUN_UNKNOWN', 'There is no such run: take its address from where it was started.')
    const run = await this.fleet.finished(ref, { within: this.waitMs() })
    return jsonResponse(200, view(run))
  }

  /** Whose runs may not be started here may not be seen either. */
  private async isOpen(job: string): Promise<boolean> {
    const { jobs } = this.door
    if (jobs === null || jobs.has(job)) return true
    // A name is that of a job of this fleet object's service; another service may have one of the same name.
    const service = this.fleet.health()?.service ?? ''
    return (await this.fleet.jobs({ service })).some((one) => one.job === job && jobs.has(one.name))
  }

  /** 200 with a run that has ended, 202 with one that has not. */
  private async answerRun(started: Run, waitMs: number): Promise<Response> {
    const run = waitMs > 0 && isLive(started.state) ? await this.fleet.finished(started, { within: waitMs }) : started
    const location = `${this.door.path}/runs/${runId(run)}`
    return jsonResponse(isLive(run.state) ? 202 : 200, view(run), { location })
  }

  private waitMs(): number {
    const [text, second] = this.url.searchParams.getAll('wait')
    const stranger = [...this.url.searchParams.keys()].find((name) => name !== 'wait')
    if (stranger !== undefined) {
      throw queryInvalid(
        `there is no query parameter '${stranger}'.${didYouMean(closest(stranger, ['wait']))} Known is wait.`,
      )
    }
    if (second !== undefined) throw queryInvalid('wait is there twice: write it once.')
    if (text === undefined) return 0
    try {
      return Math.min(this.door.longestWaitMs, parseDuration(text, 'wait'))
    } catch {
      throw queryInvalid(`wait '${text}' is no duration: write it with a unit, such as 5s.`)
    }
  }
}

/** A run as the command line shows it, with its id; an error's stack stays inside. */
function view(run: Run) {
  const { error, ...rest } = runView(run)
  return { id: runId(run), ...rest, error: error && { name: error.name, message: error.message } }
}

function jobUnknown(job: string): Problem {
  return new Problem(404, 'JOB_UNKNOWN', `There is no job '${job}' to be started here.`)
}

function queryInvalid(why: string): Problem {
  return new Problem(400, 'OPTION_INVALID', `The query cannot be used: ${why}`)
}

function pathUnknown(path: string): Problem {
  return new Problem(404, 'PATH_UNKNOWN', `There are POST ${path}/jobs/:name/runs and GET ${path}/runs/:id.`)
}

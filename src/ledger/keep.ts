import type { Context, Decision } from './context.js'
import { type DefineInput, define } from './define.js'
import type { Aggregate } from './types.js'

interface KeepInput extends Omit<DefineInput, 'carried'> {
  /** `ensure` leaves what is there; `upsert` puts these terms in its place. */
  readonly verb: 'ensure' | 'upsert'
  /** Whether the application that asks is still starting. */
  readonly isBooting: boolean
}

/**
 * A schedule kept in the store: it belongs to whoever asked last, not to what nodes carry. So the earlier terms of a
 * schedule may come back, as somebody turns a setting back; but not from a boot, which would be an old node that starts
 * again during a deploy and says what it always said.
 */
export function keep(job: Aggregate | null, input: KeepInput, ctx: Context): Decision {
  if (job !== null && job.definition.handler === undefined) {
    return refused(`${input.job} is declared by code: a schedule kept in the store needs a name of its own`)
  }
  if (job !== null && !job.header.retired) {
    if (input.verb === 'ensure' || job.header.definition === input.hash) return { outcome: 'unchanged' }
    if (input.isBooting && input.known.some(({ hash }) => hash === input.hash)) {
      return refused(
        `schedule '${input.name}' had these terms before, and others since: a boot does not bring earlier ones back. ` +
          'Use ensure at boot, or upsert once the fleet has started',
      )
    }
  }
  const known = input.known.filter(({ hash }) => hash !== input.hash)
  const change = define(job, { ...input, known, carried: new Map() }, ctx)
  return change === null ? { outcome: 'unchanged' } : { outcome: 'change', change }
}

function refused(message: string): Decision {
  return { outcome: 'refused', code: 'STATE_CONFLICT', message }
}

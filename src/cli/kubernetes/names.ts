import { createHash } from 'node:crypto'

/** The controller puts a suffix of 11 characters behind it, and a Job's name is a label of 63 at most. */
const MOST = 52

/**
 * Names of CronJobs for jobs: lower-case letters, digits and hyphens. A job whose name is no such name, or too long, gets a few
 * characters of a hash of its id, so that two jobs never share a name and a job's name never depends on the others.
 */
export function kubernetesName(name: string, job: string): string {
  if (/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(name) && name.length <= MOST) return name
  const hash = createHash('sha256').update(job).digest('hex').slice(0, 8)
  const readable = slug(name).slice(0, MOST - hash.length - 1)
  return `${trimmed(readable) || 'job'}-${hash}`
}

/** A text as the value of a label. */
export function labelValue(text: string): string {
  return trimmed(slug(text).slice(0, 63)) || 'fleet'
}

function slug(text: string): string {
  return trimmed(
    text
      .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-'),
  )
}

function trimmed(text: string): string {
  return text.replace(/^-+|-+$/g, '')
}

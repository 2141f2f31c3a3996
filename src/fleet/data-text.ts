import { FleetcronError } from '../errors.js'

const DATA_LIMIT = 64 * 1024

/** What a run is given, as the ledger keeps it. @throws `OPTION_INVALID` for what JSON cannot carry, or too much of it */
export function dataText(job: string, data: unknown): string | null {
  if (data === undefined) return null
  let text: string | undefined
  try {
    text = JSON.stringify(data)
  } catch (cause) {
    throw new FleetcronError('OPTION_INVALID', `Job '${job}': the data cannot be written as JSON.`, { cause })
  }
  if (text === undefined)
    throw new FleetcronError('OPTION_INVALID', `Job '${job}': the data is nothing that JSON knows.`)
  const bytes = Buffer.byteLength(text)
  if (bytes <= DATA_LIMIT) return text
  const message = `Job '${job}': the data has ${bytes} bytes as JSON; at most ${DATA_LIMIT} are kept. Hand in a reference instead.`
  throw new FleetcronError('OPTION_INVALID', message)
}

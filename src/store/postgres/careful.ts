import { UnreadableRow } from '../readable.js'

/**
 * Answers take over the JSON of rows as it stands. Where a row was spoilt the whole answer may be no JSON, or rows may seem to
 * hold what they do not: then it is asked for once more, with each row as a text and its name beside it, and the rows are
 * read one by one. To ask twice changes nothing.
 */
export async function carefully<T>(ask: (isCareful: boolean) => Promise<T>): Promise<T> {
  try {
    return await ask(false)
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof UnreadableRow) return ask(true)
    throw error
  }
}

import { FleetcronError } from '../../errors.js'
import { isToken } from './address.js'

/** So many may be live at once: the one in use, and the one that follows it. */
const MOST = 2

/**
 * Reads a file of tokens: one to a line, at most two; empty lines and those that begin with # are left out.
 * @throws `OPTION_INVALID`; no message shows a token
 */
export function tokensOf(text: string): readonly string[] {
  const tokens = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
  checkTokens(tokens)
  return tokens
}

export function checkTokens(tokens: readonly string[]): void {
  if (tokens.length === 0) throw invalid('holds none')
  if (tokens.length > MOST) throw invalid(`holds ${tokens.length}, and at most ${MOST} are live at once`)
  if (!tokens.every(isToken))
    throw invalid('holds one with fewer than 16 characters, or with others than visible ASCII')
}

function invalid(why: string): FleetcronError {
  const how = 'write one line of 16 or more random characters, such as `openssl rand -hex 32` gives'
  return new FleetcronError('OPTION_INVALID', `The list of tokens ${why}: ${how}.`)
}

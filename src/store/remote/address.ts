import { FleetcronError } from '../../errors.js'

/** Where the server is, and what it is told to let us in. */
export interface Address {
  readonly protocol: 'http:' | 'https:'
  /** Without brackets. */
  readonly hostname: string
  readonly port: number
  /** What a proxy puts before the server's own paths; empty, or with a slash in front and none behind. */
  readonly base: string
  readonly token: string
  /** For people: the URL without the token. */
  readonly place: string
  /** The token and every row can be read on the way. */
  readonly isBare: boolean
}

/**
 * Reads `https://<token>@host:port/base`. The token may also come as an option, or in FLEETCRON_STORE_TOKEN.
 * @throws `OPTION_INVALID`; no message shows the URL, which may hold a token
 */
export function addressOf(text: string, given: string | undefined): Address {
  if (!URL.canParse(text)) throw invalid('after https:// follow the host and the port of `fleetcron serve`')
  const url = new URL(text)
  const { protocol, hostname } = url
  if (protocol !== 'https:' && protocol !== 'http:') throw invalid('it is neither https:// nor http://')
  if (url.search !== '' || url.hash !== '') throw invalid('it has a ? or # part, which this store has no use for')
  const base = url.pathname.replace(/\/+$/, '')
  const host = hostname.replace(/^\[|\]$/g, '')
  return {
    protocol,
    hostname: host,
    port: Number(url.port || (protocol === 'https:' ? 443 : 80)),
    base,
    token: tokenOf(given ?? (decoded(url.password || url.username) || process.env.FLEETCRON_STORE_TOKEN)),
    place: `at ${protocol}//${url.host}${base}`,
    isBare: protocol === 'http:' && !isLoopback(host),
  }
}

/** Whether an address is this machine only. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host)
}

/** What a token looks like: enough of it that nobody guesses it, and nothing that a header cannot carry. */
export function isToken(text: string): boolean {
  return /^[\x21-\x7e]{16,1000}$/.test(text)
}

function tokenOf(token: string | undefined): string {
  if (!token) {
    throw invalid(
      'it needs a token: set FLEETCRON_STORE_TOKEN to a line of the file that `fleetcron serve --token-file` reads',
    )
  }
  if (!isToken(token))
    throw invalid('its token is not one: a token has 16 or more visible ASCII characters and no blank')
  return token
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw invalid('its token holds a % that no two digits follow')
  }
}

function invalid(why: string): FleetcronError {
  return new FleetcronError('OPTION_INVALID', `The store's URL is not understood: ${why}.`)
}

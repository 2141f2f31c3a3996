/** Where lines go: `console` and pino's loggers fit; FleetModule takes Nest's by itself. Fields are given once more as data, for structured loggers. */
export interface Logger {
  info(line: string, fields?: Readonly<Record<string, unknown>>): void
  warn(line: string, fields?: Readonly<Record<string, unknown>>): void
  error(line: string, fields?: Readonly<Record<string, unknown>>): void
}

export type Level = 'info' | 'warn' | 'error'

/** A line: the words first, then `key=value` pairs; values with spaces are quoted, absent ones left out. */
function formatLine(message: string, fields: Readonly<Record<string, unknown>>): string {
  const pairs = Object.entries(fields).flatMap(([key, value]) => {
    if (value === undefined || value === null) return []
    return [`${key}=${formatValue(value)}`]
  })
  return [message, ...pairs].join(' ')
}

function formatValue(value: unknown): string {
  const text = typeof value === 'string' ? value : textOfValue(value)
  return /^[^\s"=]+$/.test(text) ? text : JSON.stringify(text)
}

/** A field of a user's may be anything: a line is written all the same. */
function textOfValue(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value)
  } catch {
    return typeof value === 'bigint' ? `${value}` : `(${typeof value})`
  }
}

/** A logger that never throws into its caller, whatever the user's logger does. */
export class Log {
  constructor(
    private readonly logger: Logger | null,
    private readonly origin: Readonly<Record<string, unknown>>,
  ) {}

  info(message: string, fields: Readonly<Record<string, unknown>> = {}): void {
    this.write('info', message, fields)
  }

  warn(message: string, fields: Readonly<Record<string, unknown>> = {}): void {
    this.write('warn', message, fields)
  }

  error(message: string, fields: Readonly<Record<string, unknown>> = {}): void {
    this.write('error', message, fields)
  }

  /** Several lines for people; the origin goes to structured loggers only. */
  block(text: string): void {
    this.send('info', `fleetcron: ${text}`, this.origin)
  }

  private write(level: Level, message: string, fields: Readonly<Record<string, unknown>>): void {
    const all = { ...fields, ...this.origin }
    if (this.logger !== null) this.send(level, `fleetcron: ${formatLine(message, all)}`, all)
  }

  private send(level: Level, line: string, fields: Readonly<Record<string, unknown>>): void {
    try {
      this.logger?.[level](line, fields)
    } catch {
      // A logger that fails must not end a run or the loop; there is nowhere left to say so.
    }
  }
}

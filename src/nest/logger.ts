import { Logger as NestLogger } from '@nestjs/common'
import type { Logger } from '../fleet/log.js'

/** Lines of the fleet through Nest's logger, context `Fleetcron`. Fields are in the line already. */
export function nestLogger(): Logger {
  const logger = new NestLogger('Fleetcron')
  return {
    info: (line) => logger.log(line),
    warn: (line) => logger.warn(line),
    error: (line) => logger.error(line),
  }
}

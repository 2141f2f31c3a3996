import { Logger as NestLogger } from '@nestjs/common'
import type { Logger } from '../fleet/log.js'

/** Lines of the fleet through Nest's logger, whose context names Fleetcron already. Fields are in the line. */
export function nestLogger(): Logger {
  const logger = new NestLogger('Fleetcron')
  const plain = (line: string) => line.replace(/^fleetcron: /, '')
  return {
    info: (line) => logger.log(plain(line)),
    warn: (line) => logger.warn(plain(line)),
    error: (line) => logger.error(plain(line)),
  }
}

import { Logger, type Type } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { fromEnvironment } from './config.js'
import { endWithParent, onRequest, tell } from './messages.js'
import { hurry } from './pace.js'

/** Starts an application without a web server; SIGTERM ends it in good order. */
export async function startApplication(module: Type): Promise<void> {
  endWithParent()
  onRequest('hurry', async () => {
    hurry()
    return { type: 'hurried' }
  })
  const application = await NestFactory.createApplicationContext(module, {
    logger: ['log', 'warn', 'error', 'fatal'],
    abortOnError: false,
  })
  application.enableShutdownHooks()
  if (fromEnvironment().broken) {
    new Logger('Billing').error('This release is broken; it does not live long.')
    process.exit(1)
  }
  tell({ type: 'ready' })
}

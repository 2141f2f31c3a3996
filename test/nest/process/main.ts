import 'reflect-metadata'
import { Injectable, Module, type OnModuleDestroy } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { Cron, FleetModule, type Run } from '../../../src/nest/index.js'
import { fleetOf } from '../stand.js'

interface Config {
  readonly store: string
  /** Whether the application listens for SIGTERM. */
  readonly hooks: boolean
  readonly shutdown: 'hooks' | 'sigterm'
  readonly drain: string
  /** Ask for a run of the job at start. */
  readonly trigger: boolean
}

const config = JSON.parse(process.argv[2] ?? '') as Config

function say(event: string, fields: object = {}): void {
  process.stdout.write(`${JSON.stringify({ event, at: Date.now(), ...fields })}\n`)
}

@Injectable()
class Database implements OnModuleDestroy {
  isOpen = true
  onModuleDestroy() {
    this.isOpen = false
    say('closed')
  }
}

const database = new Database()

@Injectable()
class Work {
  @Cron('0 0 29 2 *', { name: 'work' })
  async run(run: Run) {
    say('begun', { key: run.key, attempt: run.attempt })
    await new Promise((resolve) => run.signal.addEventListener('abort', resolve, { once: true }))
    say('told', { isOpen: database.isOpen })
    run.signal.throwIfAborted()
  }
}

const { store, shutdown, drain } = config
@Module({
  imports: [FleetModule.forRoot({ fleet: 'processes', service: 'app', store, shutdown, drain })],
  providers: [Work, { provide: Database, useValue: database }],
})
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule)
if (config.hooks) app.enableShutdownHooks()
if (config.trigger) await fleetOf(app).trigger('work')
say('up')

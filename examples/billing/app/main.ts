import 'reflect-metadata'
import { startApplication } from '../shared/start.js'
import { AppModule } from './app.module.js'

await startApplication(AppModule)

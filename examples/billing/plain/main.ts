import 'reflect-metadata'
import { startApplication } from '../shared/start.js'
import { PlainModule } from './plain.module.js'

await startApplication(PlainModule)

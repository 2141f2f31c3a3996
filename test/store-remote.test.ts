import { describe, test } from 'vitest'
import { storeConformance } from '../src/testing/store/index.js'
import { sqlitePlace } from './remote/place.js'

storeConformance({ describe, test }, 'another process’s API', (now) => sqlitePlace(now))

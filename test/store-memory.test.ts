import { describe, test } from 'vitest'
import { createMemoryStore } from '../src/store/memory/index.js'
import { storeConformance } from '../src/testing/store/index.js'

storeConformance(
  { describe, test },
  'memory',
  (now) => {
    const store = createMemoryStore({ now })
    return { connect: () => store, close: () => {} }
  },
  { fleets: false },
)

import { afterAll, describe, expect, test } from 'vitest'
import { hasCode } from '../src/errors.js'
import { createMemoryStore } from '../src/store/memory/index.js'
import type { Store } from '../src/store/port.js'
import { storeConformance } from '../src/testing/store/index.js'
import { remotePlace } from './remote/place.js'
import { type Fate, type FatefulProxy, startProxy } from './remote/proxy.js'

/** What is only there to be large: it takes minutes here and shows nothing that the others do not. */
const LARGE = [
  'scale',
  'grants and a far pause are committed while the job is settled without end',
  'a megabyte of data comes back',
]

/** The suite without that. */
const api = {
  describe: (topic: string, body: () => void) => (LARGE.includes(topic) ? undefined : describe(topic, body)),
  test: (title: string, run: () => Promise<void>) => (LARGE.includes(title) ? undefined : test(title, run)),
}

const memory = (now: () => number) => (fleet: string) => createMemoryStore({ now, fleet })

// How many rows went is told once: asked again there are fewer left.
const twice = (method: string): Fate => (method === 'prune' ? 'once' : 'twice')

function by(fate: (method: string) => Fate, proxies: FatefulProxy[]) {
  return async (url: string) => {
    const proxy = await startProxy(url, fate)
    proxies.push(proxy)
    return proxy
  }
}

function total(proxies: readonly FatefulProxy[], fate: Fate): number {
  return proxies.reduce((sum, { met }) => sum + (met.get(fate) ?? 0), 0)
}

describe('each call arrives twice', () => {
  const proxies: FatefulProxy[] = []
  storeConformance(api, 'a way that doubles', (now) => remotePlace(memory(now), { reach: by(twice, proxies) }), {
    spoils: false,
  })
  afterAll(() => expect(total(proxies, 'twice')).toBeGreaterThan(1_000))
})

describe('calls and answers are lost', () => {
  const proxies: FatefulProxy[] = []
  // Every way of losing is met by every method, in a fixed order.
  const fates: readonly Fate[] = ['unanswered', 'once', 'lost', 'at once', 'unanswered', 'lost', 'once', 'once']
  const turns = new Map<string, number>()
  const fate = (method: string): Fate => {
    const turn = turns.get(method) ?? 0
    turns.set(method, turn + 1)
    // How many rows went is told once: asked again there are none left. So it is for the beat that ends a session.
    return method === 'prune' || method === 'beat' ? 'once' : (fates[turn % fates.length] ?? 'once')
  }
  storeConformance(
    api,
    'a way that loses',
    (now) => remotePlace(memory(now), { reach: by(fate, proxies), wrap: persistent }),
    { spoils: false },
  )
  afterAll(() => {
    expect(total(proxies, 'lost')).toBeGreaterThan(300)
    expect(total(proxies, 'unanswered')).toBeGreaterThan(300)
  })
})

/** A caller in doubt repeats the call, as the port allows. */
function persistent(store: Store): Store {
  const again = <Args extends unknown[], Result>(method: (...args: Args) => Promise<Result>) => {
    return async (...args: Args): Promise<Result> => {
      for (let tries = 1; ; tries++) {
        try {
          return await method(...args)
        } catch (error) {
          if (!hasCode(error, 'STORE_UNAVAILABLE') || tries === 9) throw error
        }
      }
    }
  }
  return {
    ...store,
    open: again(store.open),
    attend: again(store.attend),
    load: again(store.load),
    commit: again(store.commit),
    settle: again(store.settle),
    jobs: again(store.jobs),
    runs: again(store.runs),
    events: again(store.events),
  }
}

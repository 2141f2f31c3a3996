/**
 * A kind of server that tests need. A further engine is
 * 1. one object like this in a file of its own, and its line in `engines.ts`,
 * 2. the store it is for in `stores.ts`, and in CONTRIBUTING.md the variable with the URL of a server that is there already,
 * 3. in `start`: a server that listens on 127.0.0.1 and `how.port`, keeps everything in `how.folder`, and is no root's
 *    (`serverUser`, `give`, `runAs`); `Daemon.start` waits for the line by which it says that it answers, and ends it by pid.
 * Tests have it by `sharedServer(name)`, each with a place of its own in it, or by `ownServer(name)` where they break it.
 * What is missing on the machine is installed when a test asks first; nothing else needs to be told to CI.
 */
export interface Engine {
  readonly name: string
  /** Environment variable with the URL of a server that is there already; null: the tests always start their own. */
  readonly variable: string | null
  /** Debian's packages, and an image that serves the same. */
  readonly packages: readonly string[]
  readonly image: string | null
  /** The programs on this machine, by name; null where one is missing. */
  programs(): Programs | null
  /** Starts a server in a folder and on a port of its own; resolves when it answers. */
  start(how: Start): Promise<Server>
}

export type Programs = Readonly<Record<string, string>>

/** What a server is started with: programs of this machine, or an image that Docker runs. */
export interface Start {
  readonly by: { readonly programs: Programs } | { readonly image: string }
  /** An empty folder, removed when the server has ended. */
  readonly folder: string
  readonly port: number
  /** False: it may forget everything when it is killed, which saves the tests that share it their waits for the disk. */
  readonly isDurable: boolean
  /** Another engine's server: a pooler needs one behind it. */
  server(engine: string): Promise<Server>
}

export interface Server {
  readonly url: string
  /** What the server writes about itself; null where it is somebody else's. */
  readonly log: string | null
  /** Ends it in good order. */
  end(): Promise<void>
  /** Ends it as a power cut does. */
  kill(): Promise<void>
  /** Starts it again, on the same port and over the same folder. */
  again(): Promise<void>
}

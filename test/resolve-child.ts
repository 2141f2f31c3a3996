import { resolveStore } from '../src/store/resolve.js'

/** The kind of a store, or the code and sentence of an error. */
export type Resolved = string | readonly [code: string, message: string]

/**
 * Opens the store of a URL and tells what came of it.
 * @public Called by the script that `bundleMain` makes.
 */
export async function main([url = '']: readonly string[]): Promise<void> {
  const answer: Resolved = await resolveStore(url, 'f')
    .then((store) => store.open())
    .then(
      (info): Resolved => info.kind,
      (error): Resolved => [error.code, error.message],
    )
  process.stdout.write(`${JSON.stringify(answer)}\n`)
}

import { resolveStore } from '../src/store/resolve.js'

/** Opens the store of a URL and tells its kind, or the code and sentence of its error. */
export async function main([url = '']: readonly string[]): Promise<void> {
  const answer = await resolveStore(url, 'f')
    .then((store) => store.open())
    .then(
      (info) => info.kind,
      (error) => [error.code, error.message],
    )
  process.stdout.write(`${JSON.stringify(answer)}\n`)
}

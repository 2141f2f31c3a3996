/** Does it until it works: the first calls may meet a connection that was there before, or none. */
export async function again<T>(act: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await act()
    } catch {
      // A refusal may come without any wait; connections are made in between.
      await new Promise(setImmediate)
    }
  }
}

/**
 * What a store sees of its server, for the doctor; null: it has no such thing, or may not ask. Stores with a server offer it
 * beside the port; it changes nothing.
 */
export interface Examination {
  /** Connections that are in use, and that the server allows to users like this one. */
  readonly connections: { readonly used: number; readonly most: number } | null
  /** What a pooler in between gives a server connection to: each client, each transaction, or each statement. */
  readonly pooler: 'session' | 'transaction' | 'statement' | null
  /** How the server makes room when its memory is full; `noeviction`: it does not. */
  readonly eviction: string | null
}

export interface Examinable {
  /** Of a store that is open. */
  examine(): Promise<Examination>
}

/** The examination of a store that offers one. */
export async function examinationOf(store: object): Promise<Examination | null> {
  return 'examine' in store ? (store as Examinable).examine() : null
}

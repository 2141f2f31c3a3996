import { type CallOptions, Rejected } from 'fleetcron'
import type { Charge, ChargeRequest } from './book.js'

/** How a charge is made once: what to send, what its answers mean, and where to look when there was none. */
export function chargeAt(provider: string, input: ChargeRequest): CallOptions<Charge, ChargeRequest> {
  return {
    input,
    timeout: '1s',
    async send({ idempotencyKey, input, signal }) {
      const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': idempotencyKey }
      const response = await fetch(`${provider}/charges`, {
        method: 'POST',
        headers,
        body: JSON.stringify(input),
        signal,
      })
      const answer = (await response.json()) as Charge & { readonly error?: string }
      if (response.status === 402 || response.status === 409) throw new Rejected(answer.error ?? 'rejected', answer)
      if (!response.ok) throw new Error(`the provider answered ${response.status}`)
      return answer
    },
    async find({ idempotencyKey, signal }) {
      const response = await fetch(`${provider}/charges?key=${idempotencyKey}`, { signal })
      if (response.status === 404) return { state: 'absent' }
      return response.ok ? { state: 'found', result: (await response.json()) as Charge } : { state: 'unknown' }
    },
  }
}

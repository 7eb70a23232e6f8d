import type { Payment } from './orders.ts'

/** Whoever moves the money. It takes an idempotency key, as all do that should be trusted with it. */
export interface Provider {
  /** Charges once for each attempt, however often it is called. @returns whether it was charged, or declined */
  charge(payment: Payment, signal: AbortSignal): Promise<boolean>
  /** What an attempt came to; `null` when the provider has never heard of it. */
  ask(attempt: string, signal: AbortSignal): Promise<boolean | null>
}

export function providerAt(url: string): Provider {
  return {
    async charge({ attempt, order, channel, amount }, signal) {
      const response = await fetch(`${url}/charges`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': attempt },
        body: JSON.stringify({ order, channel, amount }),
        signal,
      })
      return isCharged(response)
    },
    async ask(attempt, signal) {
      const response = await fetch(`${url}/charges/${attempt}`, { signal })
      return response.status === 404 ? null : isCharged(response)
    },
  }
}

async function isCharged(response: Response): Promise<boolean> {
  if (!response.ok) throw new Error(`the provider answered ${response.status}`)
  return ((await response.json()) as { charged: boolean }).charged
}

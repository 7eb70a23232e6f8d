import { slidingWindow, tokenBucket, type Holdfast } from 'holdfast'

export interface Completion {
  readonly text: string
  readonly tokens: number
}

/** A budget of model tokens. What a call will cost is known only afterwards: so reserve the most, and settle what it was. */
export function meterTokens(hf: Holdfast, ask: (prompt: string, most: number) => Promise<Completion>) {
  const budget = hf.limiter('tokens', [
    tokenBucket({ capacity: 10_000, refill: 10_000, per: '1m', name: 'minute' }),
    slidingWindow({ limit: 200_000, per: '1d', name: 'day' }),
  ])
  return async (user: string, prompt: string, most: number) => {
    const reservation = await budget.reserve(user, { cost: most, for: '2m' })
    const { allowed, never, retryAfter, policy } = reservation.decision
    if (!allowed) return { refused: never ? 'too long' : policy, retryAfter }
    const completion = await ask(prompt, most).catch(async (error: unknown) => {
      await reservation.cancel() // it cost nothing. Where that is not known leave it: it stays counted
      throw error
    })
    await reservation.settle(completion.tokens)
    return { text: completion.text }
  }
}

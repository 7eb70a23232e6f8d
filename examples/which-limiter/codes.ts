import { slidingWindow, type Holdfast } from 'holdfast'

/** One code per phone number and minute, and five a day. Both are decided in one step, and count together or not at all. */
export function sendCodes(hf: Holdfast, send: (phone: string) => Promise<void>) {
  const codes = hf.limiter('codes', [
    slidingWindow({ limit: 1, per: '1m', name: 'minute' }),
    slidingWindow({ limit: 5, per: '1d', name: 'day' }),
  ])
  return async (phone: string) => {
    const decision = await codes.take(phone)
    if (!decision.allowed) return { sent: false, because: decision.policy, retryAfter: decision.retryAfter }
    try {
      await send(phone)
    } catch (error) {
      await codes.refund(phone, decision) // it was not sent, so it does not count
      throw error
    }
    return { sent: true }
  }
}

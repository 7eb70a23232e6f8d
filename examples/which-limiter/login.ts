import { slidingWindow, type Holdfast } from 'holdfast'

/** Five wrong passwords within a quarter of an hour, and the next hour is over for this account from this address. */
export function guardLogin(hf: Holdfast, isRight: (account: string, password: string) => Promise<boolean>) {
  const attempts = hf.limiter('login', slidingWindow({ limit: 5, per: '15m' }))
  return async (account: string, address: string, password: string) => {
    const who = `${account} from ${address}`
    const decision = await attempts.take(who) // before the password is looked at: guesses at once count, too
    if (!decision.allowed) return { in: false, retryAfter: decision.retryAfter }
    if (await isRight(account, password)) {
      await attempts.refund(who, decision) // only failures count
      return { in: true }
    }
    if (decision.remaining === 0) await attempts.block(who, '1h')
    return { in: false, retryAfter: 0 }
  }
}

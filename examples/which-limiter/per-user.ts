import { slidingWindow, type Holdfast } from 'holdfast'

/** 100 requests per user and minute; 1000 for those who pay. */
export function limitUsers(hf: Holdfast, isPaying: (user: string) => boolean) {
  const perUser = hf.limiter('api', slidingWindow({ limit: 100, per: '1m' }), {
    limitFor: (user) => (isPaying(user) ? { limit: 1000 } : null),
  })
  return async (user: string) => {
    const decision = await perUser.take(user)
    return decision.allowed ? { status: 200 } : { status: 429, retryAfter: decision.retryAfter }
  }
}

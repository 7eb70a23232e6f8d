import { leakyBucket, type Holdfast } from 'holdfast'

/** Ten calls a second to a partner, evenly, from all instances together. At most fifty stand in line. */
export function callPartner<Order, Answer>(hf: Holdfast, call: (order: Order) => Promise<Answer>) {
  const pace = hf.limiter('partner', leakyBucket({ capacity: 50, rate: 10, per: '1s' }))
  return async (order: Order) => {
    await pace.waitFor('orders', { wait: '5s' }) // until it is its turn; RateLimitedError when that is too far away
    return call(order)
  }
}

import type { Holdfast } from 'holdfast'
import type { Stock } from './stock.ts'

/** `too-late`: the table refused the write, and the customer may try again. */
export type Bought = 'bought' | 'sold-out' | 'refused' | 'too-late'

export interface Shop {
  readonly holdfast: Holdfast
  readonly stock: Stock
  /** Asks the risk service about a user. Mostly quick; now and then it tries again behind the scenes, and takes longer than a lease. */
  readonly isTrusted: (user: string) => Promise<boolean>
  /** Milliseconds. */
  readonly ttl: number
}

export type Buy = (shop: Shop, item: string, user: string) => Promise<Bought>

/**
 * The accident. Look, ask the risk service, write: all under a lock whose expiry is the number that somebody once chose. It ends
 * while the risk service is still asked. Another instance gets the lock, sees the same stock, and both write: minus one.
 */
export const accident: Buy = ({ holdfast, stock, isTrusted, ttl }, item, user) =>
  holdfast.lock(`stock:accident:${item}`, { ttl, renew: false }).run(async () => {
    if (stock.left(item) <= 0) return 'sold-out'
    if (!(await isTrusted(user))) return 'refused'
    stock.sell(item, user)
    return 'bought'
  })

/** First mend: the lock is renewed while its holder lives. It holds however slow the risk service is, and the others wait as long. */
export const renewed: Buy = ({ holdfast, stock, isTrusted, ttl }, item, user) =>
  holdfast.lock(`stock:renewed:${item}`, { ttl, wait: '10s' }).run(async (held) => {
    if (stock.left(item) <= 0) return 'sold-out'
    if (!(await isTrusted(user))) return 'refused'
    held.assertHeld()
    stock.sell(item, user)
    return 'bought'
  })

/** Second mend: the table takes no write under an older fence than the last. The lock may fail as it will; the late one is refused. */
export const fenced: Buy = async ({ holdfast, stock, isTrusted, ttl }, item, user) => {
  const lock = holdfast.lock(`stock:fenced:${item}`, { ttl, renew: false })
  const held = await lock.acquire({ wait: '10s' })
  try {
    if (stock.left(item) <= 0) return 'sold-out'
    if (!(await isTrusted(user))) return 'refused'
    return stock.sellFenced(item, user, held.fence) ? 'bought' : 'too-late'
  } finally {
    await held.release()
  }
}

/** Third mend, and the best: the slow call goes before the critical part, which is then one statement, and needs no lock at all. */
export const outside: Buy = async ({ stock, isTrusted }, item, user) => {
  if (!(await isTrusted(user))) return 'refused'
  return stock.sellOne(item, user) ? 'bought' : 'sold-out'
}

export const ways: Readonly<Record<string, Buy>> = { accident, renewed, fenced, outside }

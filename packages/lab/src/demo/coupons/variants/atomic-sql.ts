import type { Counter, Sell } from '../counter.ts'

/**
 * No lock, and none is needed: one statement compares and takes, `… SET stock = stock - 1 WHERE stock > 0`. The database
 * lets one of them at the row at a time, and buyers whose check is slow keep nobody waiting.
 *
 * Where the whole decision fits into one statement this is the best answer. It does not fit when something outside the
 * database must happen exactly once, as in the payment below.
 */
export function atomicSql(counter: Counter): Sell {
  return async (buyer) =>
    counter.atWork(buyer, async () => {
      await counter.riskCheck()
      return counter.shop.sellOne(buyer) ? 'sold' : 'sold-out'
    })
}

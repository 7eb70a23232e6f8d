import type { Database } from 'better-sqlite3'

/**
 * One atomic statement: look and write in one. For whatever can be said as a condition of the row itself: stock, balances, states.
 *
 * Nobody waits for anybody, nothing is to be released, and there is no moment between the look and the write.
 *
 * @returns whether there was one left
 */
export function takeCoupon(database: Database, coupon: string): boolean {
  const take = 'UPDATE coupons SET left_over = left_over - 1 WHERE id = ? AND left_over > 0'
  return database.prepare(take).run(coupon).changes === 1
}

import type { Counter, Sell } from '../counter.ts'
import { atomicSql } from './atomic-sql.ts'
import { getThenDel } from './get-then-del.ts'
import { holdfast } from './holdfast.ts'
import { localMutex } from './local-mutex.ts'
import { none } from './none.ts'
import { setnxDel } from './setnx-del.ts'

/** Every way to sell the coupons, from the worst to the best. */
export const couponVariants = {
  none,
  'local-mutex': localMutex,
  'setnx-del': setnxDel,
  'get-then-del': getThenDel,
  holdfast,
  'atomic-sql': atomicSql,
} as const satisfies Record<string, (counter: Counter) => Sell>

export type CouponVariant = keyof typeof couponVariants

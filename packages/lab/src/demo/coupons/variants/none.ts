import type { Counter, Sell } from '../counter.ts'

/**
 * No lock.
 *
 * What is wrong: between "read" and "write back" others read the same stock. Each of them finds a coupon left, each
 * writes back the same number, and each gets an order. The stock never goes below zero; only the orders tell.
 * A transaction around the write does not help, since the read was before it.
 */
export function none(counter: Counter): Sell {
  return (buyer) => counter.readCompareWriteBack(buyer)
}

import type { Counter, Sell } from '../counter.ts'

/**
 * A mutex in the memory of each process: callers line up behind one promise.
 *
 * Right, and enough, as long as there is one process. What is wrong: the second process has a mutex of its own. Over
 * four of them up to four buyers are at work at once. Nothing in the code shows it; the day the service is scaled
 * out does.
 */
export function localMutex(counter: Counter): Sell {
  let last: Promise<unknown> = Promise.resolve()
  return (buyer) => {
    const sale = last.then(() => counter.readCompareWriteBack(buyer))
    last = sale.catch(() => undefined)
    return sale
  }
}

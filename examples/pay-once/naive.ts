import type { Answer } from './checkout.ts'
import type { OrderBook } from './orders.ts'
import type { Provider } from './provider.ts'

/**
 * The same without any of it: look whether the order is paid, charge, write down that it is. It passes every test that sends one
 * callback at a time.
 *
 * What is wrong: between the look and the write stands the provider, for as long as he likes. Every callback that comes meanwhile
 * sees an order that is not paid, and charges again, each under a key of its own.
 */
export function naivePay(orders: OrderBook, provider: Provider) {
  return async (id: string, channel: string): Promise<Answer> => {
    const order = await orders.find(id)
    if (order === null) return 'unknown-order'
    if (order.status === 'paid') return 'already-paid'
    const attempt = crypto.randomUUID()
    const payment = { attempt, order: id, channel, amount: order.amount }
    const charged = await provider.charge(payment, AbortSignal.timeout(10_000))
    if (charged) await orders.overwrite(id, 'paid')
    return charged ? 'paid' : 'declined'
  }
}

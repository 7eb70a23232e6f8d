import { randomUUID } from 'node:crypto'
import { LockTimeoutError, type Held, type Holdfast } from 'holdfast'
import type { OrderBook, Payment } from './orders.ts'
import type { Provider } from './provider.ts'

/** What a callback is told. `paid`: this call, or the attempt that it found unfinished, paid the order. */
export type Answer = 'paid' | 'already-paid' | 'declined' | 'cancelled' | 'in-progress' | 'unknown-order'

export interface CheckoutOptions {
  /** How long a lock outlives its holder, in milliseconds. */
  readonly ttl: number
  /** How long a callback waits for another one of the same order, in milliseconds. */
  readonly wait: number
}

/**
 * Pays an order once, whoever calls it, however often, and wherever it dies.
 *
 * What keeps a second charge away, from the outside in: the lock lets one at a time try; the row of the payment is written
 * before the provider is asked, and only one may be live or paid for each order; its id is the provider's idempotency key, so
 * that asking twice charges once; the fence keeps a holder that slept out of the database.
 */
export class Checkout {
  readonly #holdfast: Holdfast
  readonly #orders: OrderBook
  readonly #provider: Provider
  readonly #options: CheckoutOptions

  constructor(holdfast: Holdfast, orders: OrderBook, provider: Provider, options: CheckoutOptions) {
    this.#holdfast = holdfast
    this.#orders = orders
    this.#provider = provider
    this.#options = options
  }

  /** @param channel by which the customer pays, as `card` */
  async pay(order: string, channel: string): Promise<Answer> {
    const { ttl, wait } = this.#options
    try {
      return await this.#lock(order, ttl, wait).run((held) => this.#payAlone(order, channel, held))
    } catch (error) {
      if (error instanceof LockTimeoutError) return 'in-progress'
      throw error
    }
  }

  /** Brings orders to their end whose payer died. Those that somebody is at work on are left to him. */
  async settleLeftovers(): Promise<void> {
    for (const order of await this.#orders.paying()) {
      await this.#lock(order, this.#options.ttl, 0).tryRun((held) => this.#settle(order, held))
    }
  }

  #lock(order: string, ttl: number, wait: number) {
    return this.#holdfast.lock(`order:pay:${order}`, { ttl, wait })
  }

  async #payAlone(id: string, channel: string, held: Held): Promise<Answer> {
    const settled = await this.#settle(id, held)
    if (settled === true) return 'paid'
    const order = await this.#orders.find(id)
    if (order === null) return 'unknown-order'
    if (order.status === 'paid') return 'already-paid'
    if (order.status === 'cancelled') return 'cancelled'
    const payment = { attempt: randomUUID(), order: id, channel, amount: order.amount }
    await this.#orders.begin(payment, held.fence)
    return (await this.#charge(payment, held)) ? 'paid' : 'declined'
  }

  /**
   * Ends a payment that somebody began: he died, or could not write down what the provider said. The provider is asked.
   *
   * @returns whether it was charged; `null` when there is none
   */
  async #settle(id: string, held: Held): Promise<boolean | null> {
    const payment = await this.#orders.livePayment(id)
    if (payment === null) return null
    const charged = await this.#provider.ask(payment.attempt, held.signal)
    // Never heard of: the request may still be on its way. The same attempt charges once, whichever arrives first.
    if (charged === null) return this.#charge(payment, held)
    await this.#orders.end(payment, charged, held.fence)
    return charged
  }

  async #charge(payment: Payment, held: Held): Promise<boolean> {
    held.assertHeld()
    const charged = await this.#provider.charge(payment, held.signal)
    await this.#orders.end(payment, charged, held.fence)
    return charged
  }
}

import type { SqlDatabase } from './sql.ts'

/**
 * Orders and payments. Every change of state is one conditional UPDATE: it names the state that it starts from, and changes
 * nothing when somebody else was quicker. `fence` keeps out who believes to hold a lock and does not any more.
 *
 *   pending → paying → paid
 *      ↓         ↓
 *   cancelled  pending, when the provider declined
 */

export type OrderStatus = 'pending' | 'paying' | 'paid' | 'cancelled'

export interface Order {
  readonly id: string
  readonly amount: number
  readonly status: OrderStatus
}

/** A payment that the provider was, or is about to be, asked for. `attempt` is the provider's idempotency key. */
export interface Payment {
  readonly attempt: string
  readonly order: string
  readonly channel: string
  readonly amount: number
}

/** A write came too late: the order has been written under a later fence, or is not in the expected state any more. */
export class TooLateError extends Error {
  override readonly name = 'TooLateError'
}

const SCHEMA = [
  `CREATE TABLE IF NOT EXISTS orders (
     id     TEXT PRIMARY KEY,
     amount INTEGER NOT NULL CHECK (amount > 0),
     status TEXT NOT NULL CHECK (status IN ('pending', 'paying', 'paid', 'cancelled')),
     fence  BIGINT NOT NULL DEFAULT 0
   )`,
  `CREATE TABLE IF NOT EXISTS payments (
     attempt  TEXT PRIMARY KEY,
     order_id TEXT NOT NULL REFERENCES orders (id),
     channel  TEXT NOT NULL,
     state    TEXT NOT NULL CHECK (state IN ('live', 'paid', 'declined')),
     UNIQUE (order_id, channel)
   )`,
  // A key for each channel alone lets two channels charge once each.
  `CREATE UNIQUE INDEX IF NOT EXISTS one_payment ON payments (order_id) WHERE state IN ('live', 'paid')`,
]

export class OrderBook {
  readonly #database: SqlDatabase

  constructor(database: SqlDatabase) {
    this.#database = database
  }

  async migrate(): Promise<void> {
    for (const statement of SCHEMA) await this.#database.rows(statement)
  }

  async create(id: string, amount: number): Promise<void> {
    const insert = `INSERT INTO orders (id, amount, status) VALUES ($1, $2, 'pending') ON CONFLICT DO NOTHING`
    await this.#database.rows(insert, id, amount)
  }

  async find(id: string): Promise<Order | null> {
    const [order] = await this.#database.rows<Order>(
      'SELECT id, amount, status FROM orders WHERE id = $1',
      id,
    )
    return order ?? null
  }

  async cancel(id: string): Promise<boolean> {
    const cancel = `UPDATE orders SET status = 'cancelled' WHERE id = $1 AND status = 'pending' RETURNING id`
    return (await this.#database.rows(cancel, id)).length === 1
  }

  /** Whatever state it was in. Of use to nobody but `naive.ts`. */
  async overwrite(id: string, status: OrderStatus): Promise<void> {
    await this.#database.rows('UPDATE orders SET status = $2 WHERE id = $1', id, status)
  }

  /** Orders whose payment has begun and not ended. Somebody may be at work on them. */
  async paying(): Promise<string[]> {
    const rows = await this.#database.rows<{ id: string }>(`SELECT id FROM orders WHERE status = 'paying'`)
    return rows.map(({ id }) => id)
  }

  /** The payment that has begun and not ended. */
  async livePayment(order: string): Promise<Payment | null> {
    const [payment] = await this.#database.rows<Payment>(
      `SELECT attempt, order_id AS "order", channel, amount FROM payments JOIN orders ON orders.id = order_id
       WHERE order_id = $1 AND state = 'live'`,
      order,
    )
    return payment ?? null
  }

  /** Writes down that the provider is about to be asked. @throws TooLateError */
  begin(payment: Payment, fence: bigint): Promise<void> {
    const { attempt, order, channel } = payment
    return this.#database.transaction(async (sql) => {
      const start = `UPDATE orders SET status = 'paying', fence = $2
                     WHERE id = $1 AND status = 'pending' AND fence <= $2 RETURNING id`
      if ((await sql.rows(start, order, fence)).length === 0) throw new TooLateError(`begin ${order}`)
      // A payment that was declined makes room for the next one of its channel.
      const insert = `INSERT INTO payments (attempt, order_id, channel, state) VALUES ($1, $2, $3, 'live')
                      ON CONFLICT (order_id, channel) DO UPDATE SET attempt = $1, state = 'live'
                      WHERE payments.state = 'declined' RETURNING attempt`
      if ((await sql.rows(insert, attempt, order, channel)).length === 0)
        throw new TooLateError(`insert ${order}`)
    })
  }

  /** Writes down what the provider answered. @throws TooLateError */
  end({ attempt, order }: Payment, charged: boolean, fence: bigint): Promise<void> {
    return this.#database.transaction(async (sql) => {
      const end = `UPDATE payments SET state = $2 WHERE attempt = $1 AND state = 'live' RETURNING attempt`
      const ended = await sql.rows(end, attempt, charged ? 'paid' : 'declined')
      const move = `UPDATE orders SET status = $2, fence = $3
                    WHERE id = $1 AND status = 'paying' AND fence <= $3 RETURNING id`
      const moved = await sql.rows(move, order, charged ? 'paid' : 'pending', fence)
      if (ended.length === 0 || moved.length === 0) throw new TooLateError(`end ${order}`)
    })
  }
}

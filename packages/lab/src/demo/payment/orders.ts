import { randomUUID } from 'node:crypto'
import type { Database } from 'better-sqlite3'
import { openDatabase, StaleWriteError } from '../database.ts'

/** Where an order can stand, and where it can go from there. */
interface Transitions {
  pending: 'paying' | 'cancelled'
  /** Back to pending when the provider refused. */
  paying: 'paid' | 'pending'
  paid: never
  cancelled: never
}

export type OrderStatus = keyof Transitions

/** The order here. There is only one. */
const ORDER = 1

/** One order and its payments. Every payment has the attempt id that goes to the provider. */
export class OrderBook {
  readonly #database: Database

  constructor(file: string) {
    this.#database = openDatabase(file)
  }

  /** @param guarded whether at most one live or paid payment may stand per order */
  static create(file: string, { guarded }: { readonly guarded: boolean }): void {
    const book = new OrderBook(file)
    book.#database.exec(`
      CREATE TABLE orders (
        id     INTEGER PRIMARY KEY,
        status TEXT NOT NULL CHECK (status IN ('pending', 'paying', 'paid', 'cancelled')),
        fence  INTEGER NOT NULL DEFAULT 0
      );
      CREATE TABLE payments (
        attempt  TEXT PRIMARY KEY,
        order_id INTEGER NOT NULL REFERENCES orders (id),
        state    TEXT NOT NULL CHECK (state IN ('live', 'paid', 'failed'))
      );
      INSERT INTO orders (id, status) VALUES (${ORDER}, 'pending');`)
    const atMostOne = `CREATE UNIQUE INDEX one_payment ON payments (order_id) WHERE state IN ('live', 'paid')`
    if (guarded) book.#database.exec(atMostOne)
    book.close()
  }

  status(): OrderStatus {
    const row = this.#database.prepare('SELECT status FROM orders WHERE id = ?').get(ORDER)
    return (row as { status: OrderStatus }).status
  }

  /** Writes down that the provider is about to be asked; its id goes along with the charge. */
  openPayment(): string {
    const attempt = randomUUID()
    const insert = `INSERT INTO payments (attempt, order_id, state) VALUES (?, ?, 'live')`
    this.#database.prepare(insert).run(attempt, ORDER)
    return attempt
  }

  /** The naive end: the order is paid, whatever it was before. */
  markPaid(attempt: string): void {
    this.#database.transaction(() => {
      this.#database.prepare(`UPDATE orders SET status = 'paid' WHERE id = ?`).run(ORDER)
      this.#settle(attempt)
    })()
  }

  /**
   * Reads the order in the name of a fence. From then on every holder with a lower one is refused.
   *
   * @throws StaleWriteError when a later holder has been here
   */
  statusUnder(fence: bigint): OrderStatus {
    const raise = 'UPDATE orders SET fence = :fence WHERE id = :id AND fence <= :fence RETURNING status'
    const row = this.#database.prepare(raise).get({ id: ORDER, fence }) as { status: OrderStatus } | undefined
    if (row === undefined) throw new StaleWriteError()
    return row.status
  }

  /**
   * pending → paying, with the payment row, in one transaction.
   *
   * @returns the attempt id; `null` when the order was not pending
   * @throws StaleWriteError when a later holder has been here
   */
  beginPayment(fence: bigint): string | null {
    return this.#database.transaction(() => {
      return this.#move('pending', 'paying', fence) ? this.openPayment() : null
    })()
  }

  /**
   * paying → paid, and so the payment, in one transaction.
   *
   * @throws StaleWriteError when a later holder has been here; what the provider took then stands under its attempt id
   */
  finishPayment(fence: bigint, attempt: string): void {
    this.#database.transaction(() => {
      if (this.#move('paying', 'paid', fence)) this.#settle(attempt)
    })()
  }

  close(): void {
    this.#database.close()
  }

  /** One step of the state machine, guarded by the fence in the same statement. When no row changed, tells why. */
  #move<From extends OrderStatus>(from: From, to: Transitions[From], fence: bigint): boolean {
    const step = `
      UPDATE orders SET status = :to, fence = :fence
      WHERE id = :id AND status = :from AND fence <= :fence`
    if (this.#database.prepare(step).run({ id: ORDER, from, to, fence }).changes > 0) return true
    const later = this.#database.prepare('SELECT 1 FROM orders WHERE id = ? AND fence > ?').get(ORDER, fence)
    if (later !== undefined) throw new StaleWriteError()
    return false
  }

  #settle(attempt: string): void {
    this.#database.prepare(`UPDATE payments SET state = 'paid' WHERE attempt = ?`).run(attempt)
  }
}

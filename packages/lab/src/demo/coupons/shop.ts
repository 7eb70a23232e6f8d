import type { Database } from 'better-sqlite3'
import { openDatabase, StaleWriteError } from '../database.ts'

/** The shop's own data: one row of stock, and an order for every coupon that was given away. */
export class CouponShop {
  readonly #database: Database

  constructor(file: string) {
    this.#database = openDatabase(file)
  }

  /** Makes the tables, with so many coupons in stock. */
  static create(file: string, coupons: number): CouponShop {
    const shop = new CouponShop(file)
    shop.#database.exec(`
      CREATE TABLE coupon (
        id    INTEGER PRIMARY KEY,
        stock INTEGER NOT NULL CHECK (stock >= 0),
        fence INTEGER NOT NULL DEFAULT 0
      );
      CREATE TABLE orders (id INTEGER PRIMARY KEY, buyer INTEGER NOT NULL);`)
    shop.#database.prepare('INSERT INTO coupon (id, stock) VALUES (1, ?)').run(coupons)
    return shop
  }

  stock(): number {
    const row = this.#database.prepare('SELECT stock FROM coupon WHERE id = 1').get()
    return (row as { stock: number }).stock
  }

  /** Writes the new stock, and the order, in one transaction. */
  writeBack(stock: number, buyer: number): void {
    this.#database.transaction(() => {
      this.#database.prepare('UPDATE coupon SET stock = ? WHERE id = 1').run(stock)
      this.#order(buyer)
    })()
  }

  /**
   * Reads the stock in the name of a fence. From then on every holder with a lower one is refused.
   *
   * @throws StaleWriteError when a later holder has been here
   */
  stockUnder(fence: bigint): number {
    const raise = 'UPDATE coupon SET fence = :fence WHERE id = 1 AND fence <= :fence RETURNING stock'
    const row = this.#database.prepare(raise).get({ fence }) as { stock: number } | undefined
    if (row === undefined) throw new StaleWriteError()
    return row.stock
  }

  /**
   * `writeBack` in the name of a fence, which is checked in the same statement.
   *
   * @throws StaleWriteError when a later holder has been here; no order is written then
   */
  writeBackUnder(fence: bigint, stock: number, buyer: number): void {
    const write = 'UPDATE coupon SET stock = :stock, fence = :fence WHERE id = 1 AND fence <= :fence'
    this.#database.transaction(() => {
      if (this.#database.prepare(write).run({ fence, stock }).changes === 0) throw new StaleWriteError()
      this.#order(buyer)
    })()
  }

  /** Takes one coupon if there is one, and writes the order, in one transaction. */
  sellOne(buyer: number): boolean {
    const take = 'UPDATE coupon SET stock = stock - 1 WHERE id = 1 AND stock > 0'
    return this.#database.transaction(() => {
      if (this.#database.prepare(take).run().changes === 0) return false
      this.#order(buyer)
      return true
    })()
  }

  orders(): number {
    return (this.#database.prepare('SELECT count(*) AS n FROM orders').get() as { n: number }).n
  }

  close(): void {
    this.#database.close()
  }

  #order(buyer: number): void {
    this.#database.prepare('INSERT INTO orders (buyer) VALUES (?)').run(buyer)
  }
}

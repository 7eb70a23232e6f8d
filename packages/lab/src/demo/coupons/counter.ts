import type { Holdfast } from 'holdfast'
import { logged } from '../locks/commands.ts'
import type { LockCommands } from '../locks/commands.ts'
import type { LockService } from '../locks/service.ts'
import type { Log } from '../log.ts'
import { slow } from '../work.ts'
import type { CouponShop } from './shop.ts'

/** What came of one buyer. */
export type Sale = 'sold' | 'sold-out' | 'gave-up'

/** Serves one buyer. A variant makes one of these for each process. */
export type Sell = (buyer: number) => Promise<Sale>

/** The expiry of every lock here, in milliseconds. Most work takes a twentieth of it. */
export const EXPIRY = 200

/** How often the risk service takes long. */
const SLOW_CHECKS = 1 / 25

/** The longest time a buyer waits for a naive lock, in milliseconds. */
const PATIENCE = 30_000

/** What a variant finds in its process: the shop, the locks, and the work that is the same for all. */
export class Counter {
  readonly shop: CouponShop
  readonly holdfast: Holdfast
  readonly #locks: LockService
  readonly #log: Log

  constructor(shop: CouponShop, locks: LockService, log: Log) {
    this.shop = shop
    this.holdfast = locks.holdfast
    this.#locks = locks
    this.#log = log
  }

  /** The bare commands of a lock, for one buyer, so that the log knows whose they are. */
  commandsFor(buyer: number): LockCommands {
    return logged(this.#locks.commands, this.#log, buyer)
  }

  /** A key that no other software uses. */
  key(name: string): string {
    return `${this.#locks.prefix}:${name}`
  }

  /** Asks again and again until it is granted; `false` when the buyer's patience is over. */
  async askUntilGranted(ask: () => Promise<boolean>): Promise<boolean> {
    const deadline = performance.now() + PATIENCE
    while (!(await ask())) {
      if (performance.now() > deadline) return false
      await slow(20, 40)
    }
    return true
  }

  /** What every lock here is meant to protect: read the stock, compare, think, write back. */
  async readCompareWriteBack(buyer: number): Promise<Sale> {
    return this.atWork(buyer, async () => {
      const stock = this.shop.stock()
      if (stock < 1) return 'sold-out'
      await this.riskCheck()
      this.shop.writeBack(stock - 1, buyer)
      return 'sold'
    })
  }

  /** A service elsewhere that is asked about the buyer. Now and then it takes longer than the locks' expiry. */
  async riskCheck(): Promise<void> {
    if (Math.random() < SLOW_CHECKS) await slow(1.5 * EXPIRY, 2.5 * EXPIRY)
    else await slow(2, 10)
  }

  /** Runs `work` and notes from when to when it ran. */
  async atWork<T>(buyer: number, work: () => Promise<T>): Promise<T> {
    this.#log.note(buyer, { what: 'enters' })
    try {
      return await work()
    } finally {
      this.#log.note(buyer, { what: 'leaves' })
    }
  }

  /** Notes that a holder was told of its loss. */
  wasTold(buyer: number): void {
    this.#log.note(buyer, { what: 'told' })
  }

  /** Notes that the database refused a late write. */
  wasRefused(buyer: number): void {
    this.#log.note(buyer, { what: 'refused' })
  }
}

/** Buyers do not come all in one moment. */
export function arrival(): Promise<void> {
  return slow(0, 150)
}

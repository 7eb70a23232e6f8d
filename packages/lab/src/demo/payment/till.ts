import type { Holdfast } from 'holdfast'
import { sleep } from '../../wait.ts'
import { logged } from '../locks/commands.ts'
import type { LockCommands } from '../locks/commands.ts'
import type { LockService } from '../locks/service.ts'
import type { Log } from '../log.ts'
import { blockEventLoop, slow } from '../work.ts'
import type { OrderBook } from './orders.ts'
import type { PaymentProvider } from './provider.ts'

/** Handles one callback. */
export type HandleCallback = () => Promise<void>

/** The expiry of every lock here, in milliseconds. */
export const EXPIRY = 600

/** How long the first callback's event loop stands still. */
export const BLOCKED = 2 * EXPIRY

/** Callbacks come once in each process, so one number will do. */
const WHO = 1

interface TillParts {
  readonly orders: OrderBook
  readonly provider: PaymentProvider
  readonly locks: LockService
  readonly log: Log
  /** Whether this one's event loop blocks after it took the lock. */
  readonly blocks: boolean
}

/** What a variant finds in its process: orders, locks, the provider, and the work that is the same for all. */
export class Till {
  readonly orders: OrderBook
  readonly holdfast: Holdfast
  readonly commands: LockCommands
  readonly #parts: TillParts

  constructor(parts: TillParts) {
    const { orders, locks, log } = parts
    this.orders = orders
    this.holdfast = locks.holdfast
    this.commands = logged(locks.commands, log, WHO)
    this.#parts = parts
  }

  /** A key that no other software uses. */
  key(name: string): string {
    return `${this.#parts.locks.prefix}:${name}`
  }

  async askUntilGranted(ask: () => Promise<boolean>): Promise<void> {
    while (!(await ask())) await sleep(10)
  }

  /** Runs `work` as the holder, and notes from when to when it ran. */
  async atWork(work: () => Promise<void>): Promise<void> {
    this.#parts.log.note(WHO, { what: 'enters' })
    try {
      await work()
    } finally {
      this.#parts.log.note(WHO, { what: 'leaves' })
    }
  }

  /**
   * What a callback does before it charges: checks signatures and amounts, for two thirds of the expiry. In the first
   * process this blocks the event loop for two expiries, so that nothing else runs there: no timer, no watchdog.
   * @param leaseLeft what is left of a renewed lease; for the log
   */
  async prepare(leaseLeft: number | null = null): Promise<void> {
    if (!this.#parts.blocks) return slow(0.6 * EXPIRY, 0.7 * EXPIRY)
    this.#parts.log.note(WHO, { what: 'blocked', ms: BLOCKED, leaseLeft })
    blockEventLoop(BLOCKED)
  }

  /** Asks the provider for the money. */
  async charge(attempt: string): Promise<void> {
    this.#parts.log.note(WHO, { what: 'charges' })
    await this.#parts.provider.charge(attempt)
  }

  /** Notes that this one ends without a charge. */
  stops(because: string): void {
    this.#parts.log.note(WHO, { what: 'stops', because })
  }

  /** Notes that it was told of its loss. */
  wasTold(): void {
    this.#parts.log.note(WHO, { what: 'told' })
  }

  /** Notes that the database refused its late write. */
  wasRefused(): void {
    this.#parts.log.note(WHO, { what: 'refused' })
  }
}

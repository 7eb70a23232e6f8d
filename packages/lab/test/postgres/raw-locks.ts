import { Attempt, lockAddress, systemClock, systemRandomness } from 'holdfast/testing'
import type { ConnectedStore } from './support.ts'

/** One process of a store, driven by single tries past everything that stands above. */
export class RawLocks {
  readonly prefix: string
  readonly #connected: ConnectedStore
  readonly #opened
  #owners = 0

  constructor(connected: ConnectedStore, prefix: string) {
    this.prefix = prefix
    this.#connected = connected
    this.#opened = connected.store.open({
      clock: systemClock,
      randomness: systemRandomness,
      prefixes: [prefix],
    })
  }

  get process(): string {
    return this.#opened.locks.process
  }

  /** An owner that was not used before. */
  owner(): string {
    this.#owners += 1
    return `${this.process}${String(this.#owners).padStart(8, '0')}@host:1`
  }

  attempt(budget = 20_000): Attempt {
    const until = systemClock.monotonic() + budget
    return new Attempt(until, until)
  }

  async acquire(name: string, owner: string, { ttl = 30_000, attempt = this.attempt() } = {}) {
    const queue = { join: false, stands: false, yield: false }
    const ask = { address: lockAddress(this.prefix, name), owner, trace: null, ttl, queue }
    return (await this.#opened.locks.acquire(ask, attempt)).result
  }

  async release(name: string, owner: string, attempt = this.attempt()) {
    return (await this.#opened.locks.release({ address: lockAddress(this.prefix, name), owner }, attempt))
      .result
  }

  async inspect(name: string, attempt = this.attempt()) {
    return (await this.#opened.locks.inspect(lockAddress(this.prefix, name), attempt)).result
  }

  async close(): Promise<void> {
    await this.#opened.close()
    await this.#connected.close()
  }
}

import assert from 'node:assert/strict'
import { LockLostError, type LossReason } from '../errors.ts'
import { createHoldfast, type Holdfast, type HoldfastOptions } from '../holdfast.ts'
import type { Held } from '../lock/held.ts'
import { memoryStore } from '../stores/memory/index.ts'
import { Bench } from './bench.ts'
import { seededRandomness } from './seeded-randomness.ts'
import { TroubledStore } from './troubled-store.ts'

/**
 * Two processes over one store in memory, under one virtual clock. Trouble is made for the first only. For tests of what
 * stands above stores.
 */
export class LockBench extends Bench {
  readonly store: TroubledStore
  readonly hf: Holdfast
  /** Another process over the same store, which has no trouble. */
  readonly other: Holdfast

  constructor(options: HoldfastOptions = {}) {
    super()
    const memory = memoryStore()
    this.store = new TroubledStore(memory)
    const { clock } = this
    this.hf = createHoldfast({ clock, randomness: seededRandomness(1), ...options, store: this.store })
    this.other = createHoldfast({ clock, randomness: seededRandomness(2), ...options, store: memory })
  }
}

/** All that can be asked about a lost lock says the same, now. */
export function expectLost(held: Held, reason: LossReason, signal = held.signal): void {
  assert.equal(signal.aborted, true)
  assert.ok(signal.reason instanceof LockLostError)
  assert.equal(signal.reason.reason, reason)
  assert.equal(held.lost, reason)
  assert.equal(held.remaining(), 0)
  assert.throws(() => held.assertHeld(), LockLostError)
  assert.throws(() => signal.throwIfAborted(), LockLostError)
}

/** And so for one that is held. */
export function expectHeld(held: Held): void {
  assert.deepEqual([held.lost, held.signal.aborted], [null, false])
  assert.ok(held.remaining() > 0)
  held.assertHeld()
}

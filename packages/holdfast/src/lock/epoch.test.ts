import { beforeEach, expect, test } from 'vitest'
import { createHoldfast, type Holdfast } from '../holdfast.ts'
import type { LockListener, LockStore, Store, StoreContext } from '../store/contract.ts'
import { StoreFailure } from '../store/failure.ts'
import { memoryStore } from '../stores/memory/index.ts'
import { seededRandomness } from '../testing/seeded-randomness.ts'
import { VirtualClock } from '../testing/virtual-clock.ts'

/**
 * Goal: when another server answers, a holder asks it at once whether its lock still stands, however lately it asked the old one.
 * Method: a store in memory that says that another server answers; renewals of the old one fail.
 */

const BEFORE = { server: 'old', copies: 'one', dependent: null }
const AFTER = { server: 'new', copies: 'two', dependent: null }

let clock: VirtualClock
let hf: Holdfast
let listener: LockListener
let isDown: boolean
let renewals: number

beforeEach(() => {
  clock = new VirtualClock()
  isDown = false
  renewals = 0
  hf = createHoldfast({ store: switched(), clock, randomness: seededRandomness(1) })
})

function switched(): Store {
  const inner = memoryStore()
  return {
    ...inner,
    kind: 'switched',
    open(context: StoreContext) {
      const opened = inner.open(context)
      const locks = Object.create(opened.locks) as LockStore
      const methods: Partial<LockStore> = {
        process: opened.locks.process,
        acquire: (ask, attempt) => opened.locks.acquire(ask, attempt),
        release: (ask, attempt) => opened.locks.release(ask, attempt),
        inspect: (address, attempt) => opened.locks.inspect(address, attempt),
        renew: (ask, attempt) => {
          renewals += 1
          return isDown ? Promise.reject(gone()) : opened.locks.renew(ask, attempt)
        },
        listen: (heard) => {
          listener = heard
          opened.locks.listen(heard)
        },
        attend: (needed) => opened.locks.attend(needed),
      }
      return { ...opened, locks: Object.assign(locks, methods) }
    },
  }
}

const gone = (): StoreFailure =>
  new StoreFailure('gone', { kind: 'unreachable', outcome: 'unknown', final: false, reason: 'connection' })

test.each([BEFORE, null])(
  'a renewal has just failed: it is asked again at once (known before: %o)',
  async (before) => {
    const held = await hf.lock('a', { ttl: '30s' }).acquire()
    isDown = true
    await clock.advance(10_100)
    const tried = renewals
    expect(tried).toBeGreaterThan(0)
    isDown = false
    listener.epoch?.(before, AFTER)
    await clock.advance(1)
    expect(renewals).toBe(tried + 1)
    expect(held.lost).toBeNull()
    await hf.close()
  },
)

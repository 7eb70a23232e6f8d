import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { LockLostError } from '../errors.ts'
import { LockBench } from '../testing/lock-bench.ts'
import type { Held } from './held.ts'

/**
 * Goal: `run` tells both how the work ended and what became of the lock, and never hides the one behind the other.
 * Method: every way in which the work can end, with every way in which the lock can, under a virtual clock.
 */

const TTL = 900
const BUDGET = 1_000

let bench: LockBench

beforeEach(() => {
  bench = new LockBench()
})

afterEach(() => bench.end())

/** What may become of the lock while the work is at it, and what `run` knows of it then. */
const fates: Record<string, { befall: (held: Held) => Promise<void>; ours: object | null }> = {
  'stays ours': { befall: async () => {}, ours: null },
  'is lost and the holder was told': {
    befall: async (held) => {
      bench.clock.blockFor(TTL)
      expect(held.lost).toBe('expired')
    },
    ours: { code: 'LOCK_LOST', reason: 'expired' },
  },
  'is found to be gone by the release': {
    befall: async (held) => {
      bench.store.deafen()
      await bench.other.forceRelease('a', { owner: held.owner })
    },
    ours: { code: 'LOCK_LOST', reason: 'missing' },
  },
  'is found to be another’s by the release': {
    befall: async (held) => {
      bench.store.deafen()
      await bench.other.forceRelease('a', { owner: held.owner })
      await bench.other.lock('a').acquire()
    },
    ours: { code: 'LOCK_LOST', reason: 'taken' },
  },
  'cannot be released, by the network': {
    befall: async () => bench.store.trouble('release', 'swallowed'),
    ours: { code: 'STORE_UNAVAILABLE', outcome: 'unknown' },
  },
  'cannot be released, by the server': {
    befall: async () => bench.store.trouble('release', 'refused'),
    ours: { code: 'STORE_REFUSED' },
  },
  'is lost, and the store is away as well': {
    befall: async () => {
      bench.store.trouble('release', 'swallowed')
      bench.clock.blockFor(TTL)
    },
    ours: { code: 'LOCK_LOST', reason: 'expired' },
  },
}

const lock = () => bench.hf.lock('a', { ttl: TTL })
const isLoss = (ours: object | null) => ours !== null && 'reason' in ours

describe.each(Object.entries(fates))('D10: the lock %s', (_, { befall, ours }) => {
  test('and the work returned a value', async () => {
    const running = lock().run(async (held) => {
      await befall(held)
      return { charged: 3 }
    })
    const outcome = await bench.outcomeOf(running, BUDGET)
    if (!isLoss(ours)) return expect(outcome).toEqual({ value: { charged: 3 } })
    const { error } = outcome as { error: LockLostError }
    expect(error).toBeInstanceOf(LockLostError)
    expect(error).toMatchObject({ ...ours, work: { value: { charged: 3 } } })
  })

  test('and the work returned nothing', async () => {
    const outcome = await bench.outcomeOf(lock().run(befall), BUDGET)
    if (isLoss(ours)) expect(outcome).toMatchObject({ error: { ...ours, work: { value: undefined } } })
    else expect(outcome).toEqual({ value: undefined })
  })

  test('and the work threw: it rejects with just that, ours rides along unseen', async () => {
    const mine = new RangeError('mine')
    const running = lock().run(async (held) => {
      await befall(held)
      throw mine
    })
    const { error } = (await bench.outcomeOf(running, BUDGET)) as {
      error: RangeError & { holdfast?: unknown }
    }
    expect(error).toBe(mine)
    expect(Object.keys(error)).toEqual([])
    expect(JSON.stringify(error)).toBe('{}')
    if (ours === null) return expect('holdfast' in error).toBe(false)
    expect(error.holdfast).toMatchObject(isLoss(ours) ? { ...ours, work: { error: mine } } : ours)
    expect(Object.getOwnPropertyDescriptor(error, 'holdfast')?.enumerable).toBe(false)
  })

  test.each([
    ['a text', 'thrown'],
    ['undefined', undefined],
    ['null', null],
    ['zero', 0],
    ['a frozen error', Object.freeze(new Error('frozen'))],
    ['an error that allows nothing more', Object.preventExtensions(new Error('closed'))],
  ])('and the work threw %s: it rejects with just that', async (_what, thrown) => {
    const running = lock().run(async (held) => {
      await befall(held)
      throw thrown
    })
    expect(await bench.outcomeOf(running, BUDGET)).toEqual({ error: thrown })
  })

  test('and the work ends without being asynchronous at all', async () => {
    const mine = new Error('mine')
    const running = lock().run(() => {
      throw mine
    })
    expect(await bench.outcomeOf(running, BUDGET)).toEqual({ error: mine })
    expect(
      await bench.outcomeOf(
        bench.hf.lock('b').run(() => 7),
        BUDGET,
      ),
    ).toEqual({ value: 7 })
  })

  test('and tryRun tells the same', async () => {
    const outcome = await bench.outcomeOf(
      lock().tryRun(async (held) => {
        await befall(held)
        return 'done'
      }),
      BUDGET,
    )
    if (isLoss(ours)) expect(outcome).toMatchObject({ error: { ...ours, work: { value: 'done' } } })
    else expect(outcome).toEqual({ value: { ran: true, value: 'done' } })
  })
})

describe('D10: what else can be thrown', () => {
  test('the reason of the held signal itself: it rejects with that very error', async () => {
    let reason: unknown
    const running = lock().run(async (held) => {
      bench.clock.blockFor(TTL)
      reason = held.signal.reason
      held.assertHeld()
    })
    const { error } = (await bench.outcomeOf(running, BUDGET)) as { error: unknown }
    expect(error).toMatchObject({ code: 'LOCK_LOST', reason: 'expired' })
    expect(reason).toMatchObject({ code: 'LOCK_LOST', reason: 'expired' })
  })

  test('an error that has a `holdfast` of its own which cannot be changed: it is left as it is', async () => {
    const mine = Object.defineProperty(new Error('mine'), 'holdfast', { value: 'its own' })
    const running = lock().run(() => {
      bench.clock.blockFor(TTL)
      throw mine
    })
    const { error } = (await bench.outcomeOf(running, BUDGET)) as { error: Error & { holdfast: unknown } }
    expect(error).toBe(mine)
    expect(error.holdfast).toBe('its own')
  })

  test('an error that forbids everything: it rejects with just that', async () => {
    const mine = new Proxy(new Error('mine'), {
      defineProperty() {
        throw new Error('not allowed')
      },
    })
    const running = lock().run(() => {
      bench.clock.blockFor(TTL)
      throw mine
    })
    const { error } = (await bench.outcomeOf(running, BUDGET)) as { error: unknown }
    expect(error).toBe(mine)
  })

  test('an aborted wait is no end of the work: it never ran', async () => {
    await bench.other.lock('a', { ttl: 60_000 }).acquire()
    const reason = new Error('enough')
    let ran = false
    const running = lock().run(() => (ran = true), { signal: AbortSignal.abort(reason) })
    expect(await bench.outcomeOf(running, BUDGET)).toEqual({ error: reason })
    expect(ran).toBe(false)
  })
})

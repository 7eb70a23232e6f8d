import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { driftAllowance } from '../defaults.ts'
import { InvalidArgumentError, RateLimitedError, SlotLostError } from '../errors.ts'
import { LimiterBench } from '../testing/limiter-bench.ts'
import type { Slot } from './decision.ts'
import { concurrency, slidingWindow } from './policies.ts'

/**
 * Goal: a slot is held as long as it is renewed, is free soon after its holder died, and its holder learns of its loss.
 * Method: a virtual clock; another process over the same store looks on.
 */

const LEASE = 900
const slots = concurrency({ limit: 2, lease: LEASE })

let bench: LimiterBench

beforeEach(() => {
  bench = new LimiterBench()
})

afterEach(async () => {
  bench.heal()
  await Promise.all([bench.hf.close(), bench.other.close()])
  bench.end()
})

const limiter = (options = {}) => bench.hf.limiter('api', slots, options)
const slotOf = (decision: { slot?: Slot }) => decision.slot as Slot
/** What another process sees left. */
const left = async () => {
  const { allowed, remaining } = await bench.other.limiter('api', slots).peek('u')
  return allowed ? remaining + 1 : 0
}

describe('a slot', () => {
  test('is one of so many, until it is given back', async () => {
    const [one, two] = [await limiter().take('u'), await limiter().take('u')]
    expect(await limiter().take('u')).toMatchObject({ allowed: false, policy: 'slots', limit: 2 })
    expect((await limiter().take('u')).slot).toBeUndefined()
    expect(await slotOf(one).release()).toBe(true)
    expect(await slotOf(one).release()).toBe(true)
    expect(bench.count('adjust')).toBe(1)
    expect(await left()).toBe(1)
    expect(await limiter().take('u')).toMatchObject({ allowed: true })
    expect(slotOf(two).lost).toBeNull()
    expect(JSON.parse(JSON.stringify(slotOf(two)))).toEqual({ held: true, lost: null })
  })

  test('is renewed every third of its lease, all by one timer', async () => {
    const many = bench.hf.limiter('many', concurrency({ limit: 1_000, lease: LEASE }))
    const timers = bench.clock.pendingTimers
    for (let i = 0; i < 50; i += 1) await many.take('u')
    expect(bench.clock.pendingTimers - timers).toBeLessThanOrEqual(2)
    await bench.clock.advance(10 * LEASE)
    expect(await many.peek('u', { cost: 950 })).toMatchObject({ allowed: true, remaining: 0 })
    expect(bench.count('renew') / 50).toBeGreaterThanOrEqual(29)
    expect(bench.count('renew') / 50).toBeLessThanOrEqual(31)
  })

  test('is free again when its holder has died', async () => {
    await limiter().take('u')
    await limiter().take('u')
    // It is gone without giving anything back.
    await bench.hf.close({ release: false })
    await bench.clock.advance(LEASE - 1)
    expect(await left()).toBe(0)
    await bench.clock.advance(1)
    expect(await left()).toBe(2)
  })

  test('is lost when it is gone from the store, and its holder is told once', async () => {
    const told = bench.hear('holdfast:limit:slot-lost')
    const slot = slotOf(await limiter().take('u'))
    await bench.other.limiter('api', slots).reset('u')
    expect(slot.signal.aborted).toBe(false)
    await bench.clock.advance(LEASE / 3)
    expect(slot.lost).toBe('missing')
    expect(slot.signal.reason).toBeInstanceOf(SlotLostError)
    expect(slot.signal.reason).toMatchObject({ code: 'SLOT_LOST', reason: 'missing' })
    await bench.clock.advance(LEASE)
    expect(told).toEqual([{ limiter: 'api', subject: 'u', reason: 'missing', held: LEASE / 3 }])
    expect(await slot.release()).toBe(false)
    expect(bench.count('adjust')).toBe(0)
  })

  test.each([
    ['unsent', 'unreachable'],
    ['swallowed', 'unreachable'],
  ] as const)('is lost by the local deadline when renewals are %s', async (trouble, reason) => {
    const slot = slotOf(await limiter().take('u'))
    bench.trouble(trouble)
    const deadline = LEASE - driftAllowance(LEASE)
    await bench.clock.advance(Math.floor(deadline) - 1)
    expect(slot.lost).toBeNull()
    await bench.clock.advance(2)
    expect(slot.lost).toBe(reason)
    expect(slot.signal.aborted).toBe(true)
  })

  test('counts from the first ask when it was asked for twice: the store may have counted it then', async () => {
    const began = bench.clock.monotonic()
    bench.trouble('unanswered', 'take')
    const asked = limiter({ budget: 600 }).take('u')
    await bench.clock.settle()
    bench.heal()
    await bench.clock.advance(200)
    const slot = slotOf(await asked)
    bench.trouble('swallowed', 'renew')
    const deadline = began + LEASE - driftAllowance(LEASE)
    await bench.clock.advance(Math.floor(deadline - bench.clock.monotonic()) - 1)
    expect(slot.lost).toBeNull()
    await bench.clock.advance(2)
    expect(slot.lost).toBe('unreachable')
    // No later than the store lets it go.
    expect(await left()).toBe(1)
  })

  test('is still held after a short outage', async () => {
    const slot = slotOf(await limiter().take('u'))
    bench.trouble('unsent')
    await bench.clock.advance(LEASE / 2)
    bench.heal()
    await bench.clock.advance(5 * LEASE)
    expect(slot.lost).toBeNull()
    expect(await left()).toBe(1)
  })

  test('a blocked event loop finds it lost on the very next line', async () => {
    const slot = slotOf(await limiter().take('u'))
    bench.clock.blockFor(1.5 * LEASE)
    expect(slot.lost).toBe('expired')
    expect(slot.signal.aborted).toBe(true)
  })

  test('whose release fails can be released again, and is not renewed meanwhile', async () => {
    const slot = slotOf(await limiter().take('u'))
    bench.trouble('unsent')
    expect(await bench.outcomeOf(slot.release(), 100)).toMatchObject({ error: { code: 'STORE_UNAVAILABLE' } })
    bench.heal()
    await bench.clock.advance(LEASE / 2)
    expect(bench.count('renew')).toBe(0)
    expect(await slot.release()).toBe(true)
    expect(await left()).toBe(2)
  })

  test('is given back by refund, by dispose, and by close', async () => {
    const decision = await limiter().take('u')
    expect(await limiter().refund('u', decision)).toBe(true)
    expect(await limiter().refund('u', decision)).toBe(false)
    await slotOf(await limiter().take('u'))[Symbol.asyncDispose]()
    expect(await left()).toBe(2)
    await limiter().take('u')
    await limiter().take('u')
    const timers = bench.clock.pendingTimers
    await bench.hf.close()
    expect(await left()).toBe(2)
    expect(bench.clock.pendingTimers).toBe(timers - 1)
  })

  test.each([true, false])('hears by its signal that everything is closed (release: %s)', async (release) => {
    const slot = slotOf(await limiter().take('u'))
    const { signal } = slot
    await bench.hf.close({ release })
    expect(signal.reason).toMatchObject({ code: 'CLOSED' })
    expect(slot.signal.aborted).toBe(true)
  })

  test('a take whose answer never came leaves no slot behind', async () => {
    bench.trouble('unanswered', 'take')
    expect(await bench.outcomeOf(limiter().take('u'), 100)).toMatchObject({ error: { outcome: 'unknown' } })
    await bench.clock.settle()
    expect(await left()).toBe(2)
  })

  test('is local while the store is down', async () => {
    const local = limiter({ onStoreError: 'local', instances: 2 })
    bench.trouble('unsent')
    const outcome = await bench.outcomeOf(local.take('u'), 100)
    const { slot } = (outcome as { value: { slot: Slot } }).value
    expect(await bench.outcomeOf(local.take('u'), 100)).toMatchObject({
      value: { allowed: false, source: 'local' },
    })
    await bench.clock.advance(5 * LEASE)
    expect(slot.lost).toBeNull()
    expect(await bench.outcomeOf(local.take('u'), 100)).toMatchObject({
      value: { allowed: false, source: 'local' },
    })
    await slot.release()
    expect(await bench.outcomeOf(local.take('u'), 100)).toMatchObject({
      value: { allowed: true, source: 'local' },
    })
  })
})

describe('run', () => {
  test('never lets more work at once than there are slots, and all get their turn', async () => {
    let [working, most, done] = [0, 0, 0]
    const work = async () => {
      working += 1
      most = Math.max(most, working)
      await new Promise<void>((resolve) => void bench.clock.setTimer(resolve, 50))
      working -= 1
      done += 1
    }
    const theirs = bench.other.limiter('api', slots)
    const runs = Array.from({ length: 10 }, (_, i) =>
      (i % 2 === 0 ? limiter() : theirs).run('u', work, { wait: '1m' }),
    )
    await bench.clock.advance(10_000)
    await Promise.all(runs)
    expect([most, done]).toEqual([2, 10])
    expect(await left()).toBe(2)
  })

  test('gives back what the work returned, or threw, and the slot in both cases', async () => {
    expect(await limiter().run('u', async ({ slot }) => slot?.lost)).toBeNull()
    const error = new Error('theirs')
    await expect(
      limiter().run('u', () => {
        throw error
      }),
    ).rejects.toBe(error)
    expect(await left()).toBe(2)
  })

  test('does not run when there is no slot in time', async () => {
    await limiter().take('u', { cost: 2 })
    let ran = false
    const outcome = await bench.outcomeOf(
      limiter().run('u', () => (ran = true), { wait: 500 }),
      600,
    )
    expect((outcome as { error: unknown }).error).toBeInstanceOf(RateLimitedError)
    expect(outcome).toMatchObject({ error: { reason: 'timeout' } })
    await expect(limiter().run('u', () => (ran = true), { wait: 0 })).rejects.toMatchObject({
      reason: 'denied',
    })
    expect(ran).toBe(false)
    await expect(limiter().run('u', 5 as never)).rejects.toBeInstanceOf(InvalidArgumentError)
  })

  test('a slot of this process that is given back goes to the first who waits, at once', async () => {
    const held = await limiter().take('u', { cost: 2 })
    const started: number[] = []
    const began = bench.clock.monotonic()
    const runs = [1, 2].map((n) => limiter().run('u', () => started.push(n)))
    await bench.clock.advance(10)
    await slotOf(held).release()
    await Promise.all(runs)
    expect(started).toEqual([1, 2])
    expect(bench.clock.monotonic() - began).toBe(10)
  })

  test('a lost slot aborts the signal, and the work decides', async () => {
    const run = limiter().run('u', async ({ slot }) => {
      return new Promise((resolve) =>
        (slot as Slot).signal.addEventListener('abort', () => resolve('stopped')),
      )
    })
    await bench.clock.settle()
    await bench.other.limiter('api', slots).reset('u')
    await bench.clock.advance(LEASE)
    expect(await run).toBe('stopped')
  })

  test('works without slots, too', async () => {
    const plain = bench.hf.limiter('plain', slidingWindow({ limit: 1, per: '1m' }))
    expect(await plain.run('u', ({ remaining, slot }) => [remaining, slot])).toEqual([0, undefined])
    await expect(plain.run('u', () => 1)).rejects.toBeInstanceOf(RateLimitedError)
  })
})

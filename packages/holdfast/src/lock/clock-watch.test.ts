import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { listen } from '../events/channels.ts'
import { createHoldfast, type Holdfast } from '../holdfast.ts'
import type { Answer, LockStore, Store, StoreContext } from '../store/contract.ts'
import { memoryStore } from '../stores/memory/index.ts'
import { seededRandomness } from '../testing/seeded-randomness.ts'
import { VirtualClock } from '../testing/virtual-clock.ts'
import { ClockWatch, ClockWatches } from './clock-watch.ts'

/**
 * Goal: a server's clock that is stepped is told, and holders whose leases may have been cut by it are told at once.
 * Method: the watch alone, with answers as they may come; then a store under a virtual clock whose answers carry a time that is stepped.
 */

describe('the watch', () => {
  test('sees a step either way by at least what it must have been, and nothing in answers that take long', () => {
    const watch = new ClockWatch()
    expect(watch.saw(10_000, 0, 4, 12)).toBe(0)
    // Half a second on the way, there or back.
    expect(watch.saw(10_500, 500, 1_000, 12)).toBe(0)
    expect(watch.saw(11_000, 500, 1_000, 12)).toBe(0)
    const forward = watch.saw(16_100, 1_100, 1_102, 12)
    expect(forward).toBeGreaterThan(4_990)
    expect(forward).toBeLessThanOrEqual(5_000)
    expect(watch.saw(16_200, 1_200, 1_202, 12)).toBe(0)
    expect(watch.saw(11_300, 1_300, 1_302, 12)).toBeLessThan(-4_990)
  })

  test('clocks that run apart by less than one per cent are not stepped', () => {
    const watch = new ClockWatch()
    watch.saw(0, 0, 1, 12)
    for (let at = 10_000; at <= 1_000_000; at += 10_000)
      expect(watch.saw(at * 1.005, at, at + 1, 302)).toBe(0)
  })
})

describe('holders', () => {
  let clock: VirtualClock
  let ahead = 0
  let hf: Holdfast
  let jumps: number[]
  let stop: () => void

  beforeEach(() => {
    clock = new VirtualClock()
    ahead = 0
    jumps = []
    stop = listen('holdfast:store:clock-jump', ({ jumpMs }) => jumps.push(jumpMs))
    hf = createHoldfast({ store: stepped(), clock, randomness: seededRandomness(1) })
  })
  afterEach(() => stop())

  /** A store in memory that answers with a server's time. */
  function stepped(): Store {
    const inner = memoryStore()
    return {
      kind: 'stepped',
      traits: { ...inner.traits, clock: 'server' },
      open(context: StoreContext) {
        const opened = inner.open(context)
        const locks = Object.create(opened.locks) as LockStore
        const shifted = async <R>(answer: Promise<Answer<R>>): Promise<Answer<R>> => {
          const { serverTime, ...rest } = await answer
          return { ...rest, serverTime: serverTime + ahead }
        }
        const methods: Partial<LockStore> = {
          process: opened.locks.process,
          acquire: (ask, attempt) => shifted(opened.locks.acquire(ask, attempt)),
          renew: (ask, attempt) => shifted(opened.locks.renew(ask, attempt)),
          release: (ask, attempt) => shifted(opened.locks.release(ask, attempt)),
          inspect: (address, attempt) => shifted(opened.locks.inspect(address, attempt)),
          leave: (ask, attempt) => shifted(opened.locks.leave(ask, attempt)),
          listen: (listener) => opened.locks.listen(listener),
          attend: (needed) => opened.locks.attend(needed),
        }
        return { ...opened, locks: Object.assign(locks, methods) }
      },
    }
  }

  test('27: a step forward ends what it may have cut, at once, and leaves what was just renewed', async () => {
    const fixed = await hf.lock('fixed', { ttl: '20s', renew: false }).acquire()
    const renewed = await hf.lock('renewed', { ttl: '9s' }).acquire()
    await clock.advance(1_000)
    ahead = 60_000
    // The next renewal brings the news.
    await clock.advance(2_100)
    expect(jumps).toHaveLength(1)
    expect(jumps[0]).toBeGreaterThan(59_900)
    expect(fixed.lost).toBe('expired')
    expect(renewed.lost).toBeNull()
    expect(renewed.remaining()).toBeGreaterThan(8_000)
    await renewed.release()
  })

  test('27: a smaller step shortens what is left, a step back changes nothing', async () => {
    const fixed = await hf.lock('fixed', { ttl: '20s', renew: false }).acquire()
    const renewed = await hf.lock('renewed', { ttl: '9s' }).acquire()
    ahead = 5_000
    await clock.advance(3_100)
    expect(fixed.lost).toBeNull()
    expect(fixed.remaining()).toBeLessThan(12_000)
    const before = fixed.remaining()
    ahead = -3_000
    await clock.advance(3_000)
    expect(jumps).toHaveLength(2)
    expect(fixed.remaining()).toBeGreaterThan(before - 3_100)
    await renewed.release()
    await fixed.release()
  })
})

describe('several servers with a clock each', () => {
  test('are held against themselves only; what ends by one does not end by another', () => {
    const watches = new ClockWatches()
    const [one, other] = [{}, {}]
    const [a, b, c] = [{}, {}, {}]
    const at = (sent: number) => ({ sent, arrived: sent + 2, allowance: 12 })
    expect(watches.saw(a, { serverTime: 10_000, clock: one }, at(0))).toBe(0)
    // Its clock is a minute ahead, and always was.
    expect(watches.saw(b, { serverTime: 70_100, clock: other }, at(100))).toBe(0)
    expect(watches.saw(c, { serverTime: 10_200, clock: one }, at(200))).toBe(0)
    expect([watches.areAlike(a, c), watches.areAlike(a, b)]).toEqual([true, false])
    expect(watches.saw(a, { serverTime: 15_300, clock: one }, at(300))).toBeGreaterThan(4_900)
    // A name that has moved goes by the clock of the server where it lies now.
    watches.saw(c, { serverTime: 70_400, clock: other }, at(400))
    expect([watches.areAlike(a, c), watches.areAlike(b, c)]).toEqual([false, true])
  })
})

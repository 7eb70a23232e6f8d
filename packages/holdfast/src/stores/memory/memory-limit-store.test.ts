import { describe, expect, test } from 'vitest'
import { limitAddress } from '../../name.ts'
import { Attempt } from '../../store/attempt.ts'
import { StoreFailure } from '../../store/failure.ts'
import type { TakeAsk } from '../../store/limit/contract.ts'
import { LimitRules } from '../../store/limit/limit-rules.ts'
import { RulesLimitStore } from '../../store/limit/rules-limit-store.ts'
import type { Policy } from '../../store/limit/policy.ts'
import { seededRandomness } from '../../testing/seeded-randomness.ts'
import { VirtualClock } from '../../testing/virtual-clock.ts'
import { MemoryLimitTables } from './memory-limit-tables.ts'
import { MemorySteps } from './memory-steps.ts'
import { memoryStore } from './memory-store.ts'

const BUDGET = 100
const bucket: Policy = { kind: 'token-bucket', name: 'b', capacity: 10, refill: 10, per: 1_000 }
const hourly: Policy = { kind: 'fixed-window', name: 'h', limit: 10, per: 3_600_000 }

const attempt = (clock: VirtualClock) => new Attempt(clock.monotonic() + BUDGET, clock.monotonic() + BUDGET)
const ask = (subject: string, id: string, policy: Policy = bucket): TakeAsk => ({
  address: limitAddress('test:v1', 'limiter', subject),
  policies: [policy],
  cost: 1,
  id,
  countDenied: false,
  returnAfter: null,
})

/** The inner store over tables that a test can look into. */
function bare(clock = new VirtualClock()) {
  const tables = new MemoryLimitTables(clock, () => Math.floor(clock.monotonic()))
  const steps = new MemorySteps(clock, tables, new LimitRules(tables))
  return { clock, tables, limits: new RulesLimitStore(steps.do) }
}

describe('memory limit store', () => {
  test('E15: hundreds of thousands of subjects, then idle: no key is left, and no timer', async () => {
    const { clock, tables, limits } = bare()
    for (let i = 0; i < 300_000; i += 1) {
      await limits.take(ask(`subject ${i}`, `id ${i}`), attempt(clock))
      if (i % 1_000 === 999) clock.blockFor(1)
    }
    // Each counts for 100 ms; a few rounds' worth of those that are over wait for the sweep.
    expect(tables.size.subjects).toBeLessThan(400_000)
    expect(clock.pendingTimers).toBe(1)
    await clock.advance(2_000)
    expect(tables.size).toEqual({ subjects: 0, replies: 0 })
    expect(clock.pendingTimers).toBe(0)
  })

  test('E15: subjects of long windows go soon after these, without many sweeps before', async () => {
    const { clock, tables, limits } = bare()
    for (let i = 0; i < 20_000; i += 1)
      await limits.take(ask(`subject ${i}`, `id ${i}`, hourly), attempt(clock))
    await clock.advance(3_600_000)
    expect(clock.pendingTimers).toBeLessThanOrEqual(1)
    await clock.advance(120_000)
    expect(tables.size).toEqual({ subjects: 0, replies: 0 })
  })

  test('its timer keeps no process alive, and ends with the last opening', async () => {
    const clock = new VirtualClock()
    const store = memoryStore()
    const open = (seed: number) =>
      store.open({ clock, randomness: seededRandomness(seed), prefixes: ['test:v1'] })
    const [one, two] = [open(1), open(2)]
    await one.limits.take(ask('a', 'id'), attempt(clock))
    expect([clock.pendingTimers, clock.keepAliveTimers]).toEqual([1, 0])
    await one.close()
    expect(clock.pendingTimers).toBe(1)
    await two.close()
    expect(clock.pendingTimers).toBe(0)
  })

  test('E22: an answer is kept for twice the budget', async () => {
    const { clock, limits } = bare()
    const remaining = async () => {
      const { result } = await limits.take(ask('a', 'the id', hourly), attempt(clock))
      return result.kind === 'decided' ? result.policies[0]?.remaining : null
    }
    expect(await remaining()).toBe(9)
    clock.blockFor(2 * BUDGET - 1)
    expect(await remaining()).toBe(9)
    clock.blockFor(1)
    expect(await remaining()).toBe(8)
  })

  test('two openings of one store share their subjects, those of two stores do not', async () => {
    const clock = new VirtualClock()
    const context = (seed: number) => ({ clock, randomness: seededRandomness(seed), prefixes: ['test:v1'] })
    const shared = memoryStore()
    const openings = [shared.open(context(1)), shared.open(context(2)), memoryStore().open(context(3))]
    const remaining: unknown[] = []
    for (const [i, { limits }] of openings.entries()) {
      const { result } = await limits.take(ask('a', `id ${i}`), attempt(clock))
      remaining.push(result.kind === 'decided' && result.policies[0]?.remaining)
    }
    expect(remaining).toEqual([9, 8, 9])
  })

  test('a stepped wall clock changes nothing', async () => {
    const clock = new VirtualClock()
    const { limits } = memoryStore().open({ clock, randomness: seededRandomness(1), prefixes: ['test:v1'] })
    const first = await limits.take({ ...ask('a', 'one'), cost: 10 }, attempt(clock))
    clock.stepWall(3_600_000)
    expect((await limits.take(ask('a', 'two'), attempt(clock))).result).toMatchObject({
      allowed: false,
      policies: [{ retryAfter: 100 }],
    })
    clock.stepWall(-7_200_000)
    await clock.advance(100)
    const later = await limits.take(ask('a', 'three'), attempt(clock))
    expect(later.result).toMatchObject({ allowed: true })
    expect(later.serverTime).toBe(first.serverTime + 100)
  })

  test('a closed opening refuses', async () => {
    const clock = new VirtualClock()
    const opened = memoryStore().open({ clock, randomness: seededRandomness(1), prefixes: ['test:v1'] })
    await opened.close()
    const failure: unknown = await opened.limits
      .take(ask('a', 'x'), attempt(clock))
      .catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(StoreFailure)
    expect(failure).toMatchObject({ kind: 'refused', outcome: 'not-done', final: true, reason: 'closed' })
  })
})

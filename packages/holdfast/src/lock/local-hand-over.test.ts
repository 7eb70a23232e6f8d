import { beforeEach, describe, expect, test } from 'vitest'
import { createHoldfast, listen, type Held, type Holdfast, type LockOptions, type Store } from '../index.ts'
import { memoryStore } from '../stores/memory/index.ts'
import { seededRandomness } from '../testing/seeded-randomness.ts'
import { VirtualClock } from '../testing/virtual-clock.ts'

/**
 * Goal: a lease that is given back goes to the next waiting call of the same process without a round trip, each time with a
 * fence of its own, and only within its bounds.
 * Method: the memory store, with its calls counted and its renewals silenced at will.
 */

let clock: VirtualClock
let hf: Holdfast
let other: Holdfast
let calls: string[]
let silent: boolean
/** Whether acquires may have been sent twice. */
let doubled: boolean

/** The store, with the calls of one opening noted, and renewals unanswered while `silent`. */
function watched(store: Store): Store {
  return {
    ...store,
    open: (context) => {
      const opened = store.open(context)
      const { locks } = opened
      const noted = new Proxy(locks, {
        get: (target, name) => {
          const method = Reflect.get(target, name, target) as unknown
          if (typeof method !== 'function') return method
          return (...args: unknown[]): unknown => {
            if (!['listen', 'attend'].includes(String(name))) calls.push(String(name))
            if (name === 'renew' && silent) return new Promise(() => {})
            const answer = method.apply(target, args) as unknown
            if (name !== 'acquire' || !doubled) return answer
            return (answer as Promise<object>).then((given) => ({ ...given, maybeTwice: true }))
          }
        },
      })
      return { ...opened, locks: noted, close: () => opened.close() }
    },
  }
}

beforeEach(() => {
  clock = new VirtualClock()
  calls = []
  silent = false
  doubled = false
  const store = memoryStore()
  hf = createHoldfast({ store: watched(store), clock, randomness: seededRandomness(1) })
  other = createHoldfast({ store, clock, randomness: seededRandomness(2) })
})

/** So many calls that wait for `a`, in order; each holds until it is told. */
function line(count: number, options: LockOptions = {}): Promise<Held>[] {
  return Array.from({ length: count }, () => hf.lock('a', { wait: '1h', ...options }).acquire())
}

async function passDown(line: readonly Promise<Held>[], hold = 1): Promise<readonly bigint[]> {
  const fences: bigint[] = []
  for (const turn of line) {
    const held = await turn
    fences.push(held.fence)
    if (hold > 0) await clock.advance(hold)
    await held.release()
  }
  return fences
}

/** Takes the lock, so that a line can form behind it, and gives it to the first of the line. */
async function lined(count: number, options: LockOptions = {}): Promise<Promise<Held>[]> {
  const first = await other.lock('a').acquire()
  const waiting = line(count, options)
  await clock.settle()
  await first.release()
  await clock.settle()
  calls = []
  return waiting
}

describe('a lease that is given back', () => {
  test('goes down the line without a round trip, with rising fences, and is released once', async () => {
    const fences = await passDown(await lined(10))
    expect(calls).toEqual(['release'])
    expect([...fences].sort((a, b) => (a < b ? -1 : 1))).toEqual(fences)
    expect(new Set(fences).size).toBe(10)
    const later = await other.lock('a').acquire()
    expect(later.fence).toBeGreaterThan(fences.at(-1) as bigint)
  })

  test('is told: each hold acquired and released, each at its own time', async () => {
    const told: string[] = []
    const waiting = await lined(3)
    const stop = [
      listen('holdfast:lock:acquired', ({ fence }) => told.push(`acquired ${fence}`)),
      listen('holdfast:lock:released', ({ fence, held }) =>
        told.push(`released ${fence} after ${Math.round(held)}`),
      ),
    ]
    const [one = 0n, two = 0n, three = 0n] = await passDown(waiting, 5)
    for (const end of stop) end()
    expect(told).toEqual([
      `released ${one} after 5`,
      `acquired ${two}`,
      `released ${two} after 5`,
      `acquired ${three}`,
      `released ${three} after 5`,
    ])
  })

  test('leaves the one who gave it with nothing, and no loss', async () => {
    const [first, second] = await lined(2)
    const one = (await first) as Held
    await one.release()
    const two = (await second) as Held
    expect([one.lost, one.remaining(), two.lost]).toEqual([null, 0, null])
    expect(() => one.assertHeld()).toThrow(/released it already/)
    await other.forceRelease('a')
    await clock.settle()
    expect([one.lost, two.lost]).toEqual([null, 'forced'])
    expect(await one.release()).toEqual({ released: true, confirmed: false })
  })

  test('is confirmed to the last of them alone, for whom the store was asked; also when they ask again', async () => {
    const told: boolean[] = []
    const waiting = await lined(3)
    const stop = listen('holdfast:lock:released', ({ confirmed }) => told.push(confirmed))
    const answers: unknown[] = []
    for (const turn of waiting) {
      const held = await turn
      answers.push(await held.release(), await held.release())
    }
    stop()
    const [handedOn, given] = [false, true].map((confirmed) => ({ released: true, confirmed }))
    expect(answers).toEqual([handedOn, handedOn, handedOn, handedOn, given, given])
    expect(told).toEqual([false, false, true])
  })

  test('keeps its deadline and its renewals', async () => {
    const [first, second] = await lined(2, { ttl: '300ms' })
    const one = (await first) as Held
    await clock.advance(50)
    await one.release()
    const two = (await second) as Held
    expect(two.remaining()).toBeLessThanOrEqual(250)
    await clock.advance(2_000)
    expect(two.lost).toBeNull()
    expect(calls.filter((call) => call === 'renew').length).toBeGreaterThan(10)
    expect((await hf.inspect('a'))?.owner).toBe(two.owner)
  })
})

describe('a lease is not handed on', () => {
  const releases = () => calls.filter((call) => call === 'release').length

  test.each<[string, LockOptions]>([
    ['when that is switched off', { handOver: false }],
    ['when it is not renewed', { renew: false }],
  ])('%s', async (_, options) => {
    await passDown(await lined(3, options))
    expect(releases()).toBe(3)
  })

  test('to one who asks at intervals', async () => {
    const waiting = await lined(3, { retry: { delay: () => 50 } })
    const passed = passDown(waiting, 0)
    await clock.advance(1_000)
    await passed
    expect(releases()).toBe(3)
  })

  test('to a call with another ttl', async () => {
    const first = await other.lock('a').acquire()
    const waiting = [...line(1), ...line(1, { ttl: '10s' }), ...line(1)]
    await clock.settle()
    await first.release()
    await clock.settle()
    calls = []
    await passDown(waiting)
    expect(releases()).toBe(3)
  })

  test('more often than `grants`', async () => {
    await passDown(await lined(9, { handOver: { grants: 3 } }))
    expect(releases()).toBe(3)
  })

  test('for longer than `time`', async () => {
    await passDown(await lined(6, { handOver: { time: 100 } }), 60)
    expect(releases()).toBe(3)
  })

  test('after an unconfirmed renewal: the store has not confirmed it for a third of the ttl', async () => {
    const [first, second] = await lined(2, { ttl: '300ms', handOver: { time: '10s' } })
    silent = true
    const one = (await first) as Held
    await clock.advance(150)
    calls = []
    await one.release()
    expect(calls).toContain('release')
    await second
    expect(calls).toContain('acquire')
  })

  test('when it may have been asked for twice: a copy that came after the last release would be granted for nobody', async () => {
    doubled = true
    const waiting = await lined(3)
    const fences = await passDown(waiting, 0)
    expect(releases()).toBeGreaterThanOrEqual(3)
    expect([...fences].sort((a, b) => (a < b ? -1 : 1))).toEqual(fences)
  })

  test('past others: who waits elsewhere gets it next', async () => {
    const waiting = await lined(4, { handOver: { grants: 2 } })
    const elsewhere = other.lock('a').acquire()
    await clock.settle()
    const turns: string[] = []
    void elsewhere.then(async (held) => {
      turns.push('other')
      await held.release()
    })
    for (const turn of waiting) {
      const held = await turn
      turns.push('ours')
      await clock.advance(1)
      await held.release()
      await clock.advance(1)
    }
    expect(turns.slice(0, 3)).toEqual(['ours', 'ours', 'other'])
  })
})

test('who waits behind a hold that is not given back in time asks the store, and is in the queue', async () => {
  const [first] = await lined(3)
  await first
  await clock.advance(500)
  expect((await other.inspect('a'))?.waiters).toBe(1)
})

test('when the lease is lost, who waited for it asks the store', async () => {
  const [first, second] = await lined(2)
  await first
  await other.forceRelease('a')
  await clock.advance(5)
  expect((await second)?.lost).toBeNull()
})

test('the wait of one who waits for a lease of ours is bounded, and can be ended', async () => {
  const first = await other.lock('a').acquire()
  const control = new AbortController()
  const holder = hf.lock('a', { wait: '1h' }).acquire()
  const bounded = hf.lock('a', { wait: 20 }).acquire()
  const ended = hf.lock('a', { wait: '1h' }).acquire({ signal: control.signal })
  const outcomes = Promise.allSettled([bounded, ended])
  await clock.settle()
  await first.release()
  const held = await holder
  await clock.advance(30)
  control.abort(new Error('enough'))
  const [one, two] = await outcomes
  expect([one, two]).toMatchObject([
    { status: 'rejected', reason: { code: 'LOCK_TIMEOUT', holder: held.owner } },
    { status: 'rejected', reason: { message: 'enough' } },
  ])
  await held.release()
  expect(await hf.inspect('a')).toBeNull()
})

test('a lease that was extended goes back to the store: it would outlast a crash of the next holder', async () => {
  const [first, second, third] = line(3, { ttl: 900 }) as [Promise<Held>, Promise<Held>, Promise<Held>]
  await (await first).release()
  const held = await second
  await held.extend('1h')
  calls.length = 0
  await held.release()
  expect(calls).toContain('release')
  expect((await third).remaining()).toBeLessThanOrEqual(900)
  expect((await other.inspect('a'))?.remaining).toBeLessThanOrEqual(900)
})

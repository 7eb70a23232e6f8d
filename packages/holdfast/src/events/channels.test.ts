import { subscribe, unsubscribe, type Channel } from 'node:diagnostics_channel'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { driftAllowance } from '../defaults.ts'
import { InvalidArgumentError } from '../errors.ts'
import { LockBench } from '../testing/lock-bench.ts'
import { events, listen, type HoldfastEventName } from './channels.ts'

/**
 * Goal: each event is told once for what it stands for, with the payload that its type promises.
 * Method: every channel is listened to while one thing happens to a lock, under a virtual clock; what was told is compared
 * as a whole, so that an event too many shows as well.
 */

const TTL = 900
const DEADLINE = TTL - driftAllowance(TTL)
const BUDGET = 1_000
const KEY = 'holdfast:v1:{a}:lock'

const names = [
  'holdfast:lock:acquired',
  'holdfast:lock:waited',
  'holdfast:lock:lost',
  'holdfast:lock:released',
  'holdfast:lock:release-failed',
  'holdfast:lock:foreign-release',
  'holdfast:lock:renew-failed',
  'holdfast:fence:leads-clock',
  // Those of guards are told in their tests, on the databases.
  'holdfast:fence:refused',
  // Those of limits are told in the tests of limit/.
  'holdfast:limit:decided',
  'holdfast:limit:waited',
  'holdfast:limit:store-state',
  'holdfast:limit:slot-lost',
  // That of runs is told in the tests of idempotency/.
  'holdfast:once:outcome',
  // These are told in the tests of failover, on servers that change, and of the clock watch.
  'holdfast:store:epoch',
  'holdfast:store:clock-jump',
  'holdfast:store:error',
] as const satisfies readonly HoldfastEventName[]

let bench: LockBench
let told: [string, unknown][]
let ends: (() => void)[]

beforeEach(() => {
  bench = new LockBench({ traceId: () => 'trace-1' })
  told = []
  ends = names.map((name) => listen(name, (event) => told.push([name.replace('holdfast:', ''), event])))
})

afterEach(() => {
  for (const end of ends) end()
  bench.end()
})

const take = (options: object = {}) => bench.hf.lock('a', { ttl: TTL, ...options }).acquire()

/** What was told since this was called last. Each payload must be what JSON can hold. */
function tellings(): [string, unknown][] {
  for (const [, event] of told) expect(JSON.parse(JSON.stringify(event))).toEqual(event)
  return told.splice(0)
}

async function held(options: object = {}) {
  const lock = await take(options)
  tellings()
  const { owner, fence } = lock
  return { lock, base: { lock: 'a', key: KEY, owner, fence: String(fence) } }
}

describe('of an acquire', () => {
  test('that is granted at once: acquired, waited', async () => {
    const { owner, fence } = await take()
    expect(tellings()).toEqual([
      [
        'lock:acquired',
        { lock: 'a', key: KEY, owner, fence: String(fence), waited: 0, ttl: TTL, trace: 'trace-1' },
      ],
      ['lock:waited', { lock: 'a', key: KEY, waited: 0, outcome: 'acquired', holder: null }],
    ])
  })

  test('that waited: how long', async () => {
    const other = await bench.other.lock('a', { ttl: 60_000 }).acquire()
    tellings()
    const waiting = take()
    await bench.clock.advance(300)
    await other.release()
    await bench.clock.settle()
    await waiting
    const waited = tellings().filter(([name]) => name !== 'lock:released')
    expect(waited).toMatchObject([
      ['lock:acquired', { waited: 300 }],
      ['lock:waited', { waited: 300, outcome: 'acquired' }],
    ])
  })

  test('that timed out: waited, with the holder', async () => {
    const { owner } = await bench.other.lock('a', { ttl: 60_000 }).acquire()
    tellings()
    await bench.outcomeOf(take({ wait: 200 }), 200)
    expect(tellings()).toEqual([
      ['lock:waited', { lock: 'a', key: KEY, waited: 200, outcome: 'timeout', holder: owner }],
    ])
  })

  test('that was aborted, closed, or failed: waited, with that outcome', async () => {
    await bench.other.lock('a', { ttl: 60_000 }).acquire()
    const stop = new AbortController()
    const aborted = bench.hf
      .lock('a')
      .acquire({ signal: stop.signal })
      .catch(() => null)
    await bench.clock.advance(100)
    tellings()
    stop.abort()
    await aborted
    const closed = take().catch(() => null)
    await bench.clock.settle()
    await bench.hf.close()
    await closed
    const failing = new LockBench()
    failing.store.trouble('acquire', 'refused')
    await failing.outcomeOf(failing.hf.lock('a').acquire({ wait: 100 }), 5_000)
    const outcomes = tellings().flatMap(([name, event]) => (name === 'lock:waited' ? [event] : []))
    expect(outcomes).toMatchObject([
      { outcome: 'aborted', waited: 100 },
      { outcome: 'closed', waited: 0 },
      { outcome: 'failed' },
    ])
  })

  test('that did not wait and found it busy: nothing', async () => {
    await bench.other.lock('a', { ttl: 60_000 }).acquire()
    tellings()
    await bench.hf.lock('a').tryAcquire()
    expect(tellings()).toEqual([])
  })
})

describe('of a hold', () => {
  test('that is given back: released', async () => {
    const { lock, base } = await held()
    await bench.clock.advance(100)
    await lock.release()
    await lock.release()
    expect(tellings()).toEqual([['lock:released', { ...base, held: 100, confirmed: true, trace: 'trace-1' }]])
  })

  test('that is lost: lost, once, with the reason', async () => {
    const { lock, base } = await held({ renew: false })
    await bench.clock.advance(10 * TTL)
    await lock.release()
    await bench.clock.advance(BUDGET)
    expect(tellings()).toEqual([
      ['lock:lost', { ...base, reason: 'expired', held: DEADLINE, trace: 'trace-1' }],
    ])
  })

  test('whose renewal fails: renew-failed for each try, with what remains', async () => {
    const { base } = await held()
    bench.store.trouble('renew', 'refused', { times: 2 })
    await bench.clock.advance(TTL)
    expect(tellings()).toEqual([
      ['lock:renew-failed', { ...base, reason: 'READONLY', remaining: DEADLINE - 300 }],
      ['lock:renew-failed', { ...base, reason: 'READONLY', remaining: DEADLINE - 400 }],
    ])
  })

  test('whose release fails: release-failed and store:error; a repeat that finds it gone: released, unconfirmed', async () => {
    const { lock, base } = await held({ ttl: 60_000 })
    bench.store.trouble('release', 'unanswered')
    await bench.outcomeOf(lock.release(), BUDGET)
    expect(tellings()).toEqual([
      ['store:error', { store: 'memory', operation: 'release', reason: 'silent', outcome: 'unknown' }],
      ['lock:release-failed', { ...base, reason: 'silent' }],
    ])
    bench.store.heal()
    await lock.release()
    expect(tellings()).toEqual([
      ['lock:released', { ...base, held: BUDGET, confirmed: false, trace: 'trace-1' }],
    ])
  })

  test('whose release finds another: lost and foreign-release', async () => {
    bench.store.deafen()
    const { lock, base } = await held()
    await bench.other.forceRelease('a')
    const { owner: holder } = await bench.other.lock('a').acquire()
    tellings()
    await lock.release()
    expect(tellings()).toEqual([
      ['lock:lost', { ...base, reason: 'taken', held: 0, trace: 'trace-1' }],
      ['lock:foreign-release', { lock: 'a', key: KEY, owner: base.owner, holder }],
    ])
  })

  test('that is disposed of and found to be gone: lost', async () => {
    bench.store.deafen()
    const { lock, base } = await held()
    await bench.other.forceRelease('a')
    await lock[Symbol.asyncDispose]()
    expect(tellings()).toEqual([['lock:lost', { ...base, reason: 'missing', held: 0, trace: 'trace-1' }]])
  })

  test('that is lost while its release is under way: nothing of a loss', async () => {
    const { lock } = await held()
    bench.store.trouble('release', 'swallowed')
    await bench.outcomeOf(lock.release(), BUDGET)
    expect(lock.lost).toBe('expired')
    expect(tellings().map(([name]) => name)).toEqual(['store:error', 'lock:release-failed'])
  })
})

describe('of the store', () => {
  test('each failed try of an operation: store:error', async () => {
    bench.store.trouble('inspect', 'cut', { times: 1 })
    bench.store.trouble('force', 'unsent', { times: 1 })
    await bench.outcomeOf(bench.hf.inspect('a'), BUDGET)
    await bench.outcomeOf(bench.hf.forceRelease('a', { owner: 'nobody' }), BUDGET)
    expect(tellings()).toEqual([
      ['store:error', { store: 'memory', operation: 'inspect', reason: 'connection', outcome: 'unknown' }],
      ['store:error', { store: 'memory', operation: 'force', reason: 'connection', outcome: 'not-done' }],
    ])
  })
})

describe('a channel', () => {
  test('has a name of node:diagnostics_channel, so that anybody can listen without the library', async () => {
    const heard: unknown[] = []
    const hear = (event: unknown): void => void heard.push(event)
    subscribe('holdfast:lock:acquired', hear)
    await take()
    unsubscribe('holdfast:lock:acquired', hear)
    expect(heard).toMatchObject([{ lock: 'a' }])
  })

  test('is listed here, each of them', () => {
    expect(
      Object.values(events)
        .map((each) => (each as Channel).name)
        .sort(),
    ).toEqual([...names].sort())
  })

  test('one that does not exist is refused, and a handler that is none', () => {
    expect(() => listen('holdfast:lock:acquire' as never, () => {})).toThrow(InvalidArgumentError)
    expect(() => listen('holdfast:lock:acquired', null as never)).toThrow('handler: null is not a function')
  })

  test('costs nothing when nobody listens: no payload is made', async () => {
    for (const end of ends.splice(0)) end()
    expect(Object.values(events).map((each) => each.hasSubscribers)).toEqual(names.map(() => false))
    const publish = vi.spyOn(events.acquired, 'publish')
    await (await take()).release()
    expect(publish).not.toHaveBeenCalled()
    publish.mockRestore()
    expect(told).toEqual([])
  })
})

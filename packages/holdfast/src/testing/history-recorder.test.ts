import { describe, expect, test } from 'vitest'
import { LockTimeoutError, StoreUnavailableError } from '../errors.ts'
import { checkHistory } from './checker/check.ts'
import { MemoryHistory } from './history-log.ts'
import { HistoryRecorder, machineTime } from './history-recorder.ts'
import type { HistoryKind, HistoryRecord, HistoryRecordOf } from './history-record.ts'
import type { LockLike, ReleaseAnswer } from './history-shapes.ts'
import { VirtualClock } from './virtual-clock.ts'

/** A hold that can be told its fate. */
class FakeHeld {
  readonly owner = 'owner-1'
  readonly fence = 7n
  readonly #abort = new AbortController()
  readonly #clock: VirtualClock
  readonly signal = this.#abort.signal
  lost: string | null = null
  deadline: number
  answer: () => Promise<ReleaseAnswer> = () => Promise.resolve({ released: true, confirmed: true })

  constructor(clock: VirtualClock, ttl: number) {
    this.#clock = clock
    this.deadline = clock.monotonic() + ttl
  }

  remaining(): number {
    return this.lost === null ? Math.max(0, this.deadline - this.#clock.monotonic()) : 0
  }

  assertHeld(): void {
    if (this.remaining() === 0) throw new Error('lost')
  }

  extend(_ttl: number | string): Promise<void> {
    this.deadline = this.#clock.monotonic() + 5_000
    return Promise.resolve()
  }

  release(): Promise<ReleaseAnswer> {
    return this.answer()
  }

  lose(reason: string): void {
    this.lost = reason
    this.#abort.abort()
  }
}

function bench() {
  const clock = new VirtualClock()
  const log = new MemoryHistory()
  const recorder = new HistoryRecorder({ process: 'w1', log, clock })
  const held = new FakeHeld(clock, 600)
  const lock = recorder.lock<FakeHeld>(
    {
      acquire: () => Promise.resolve(held),
      tryAcquire: () => Promise.resolve(held),
      run: async (work) => {
        const value = await work(held)
        await held.release()
        return value
      },
    },
    { name: 'lock', ttl: 600, wait: '2s' },
  )
  const of = <K extends HistoryKind>(kind: K) =>
    log.records.filter((record): record is HistoryRecordOf<K> => record.kind === kind)
  return { clock, log, recorder, held, lock, of, kinds: () => log.records.map(({ kind }) => kind) }
}

describe('a recorded lock', () => {
  test('writes call and return around an acquire and a release', async () => {
    const { clock, lock, log } = bench()
    const hold = await lock.acquire()
    clock.blockFor(5)
    expect(await hold.release()).toEqual({ released: true, confirmed: true })
    expect(log.records).toMatchObject([
      { kind: 'acquire-call', id: 'w1-1', name: 'lock', ttl: 600, wait: 2_000, budget: 1_000, time: 1_000 },
      {
        kind: 'acquire-return',
        id: 'w1-1',
        outcome: 'granted',
        owner: 'owner-1',
        lease: 'owner-1',
        fence: 7n,
        deadline: 1_600,
      },
      { kind: 'release-call', id: 'w1-2', hold: 'w1-1', time: 1_005 },
      { kind: 'release-return', id: 'w1-2', outcome: 'released' },
    ])
    expect(checkHistory(log.records).ok).toBe(true)
    expect(clock.pendingTimers).toBe(0)
  })

  test('says how an acquire failed, and throws the very error', async () => {
    const errors = [
      [new LockTimeoutError('lock', 5, null), 'timeout', 'LOCK_TIMEOUT'],
      [new StoreUnavailableError('silent', 'unknown'), 'unknown', 'STORE_UNAVAILABLE'],
      [new StoreUnavailableError('closed', 'not-done'), 'error', 'STORE_UNAVAILABLE'],
      [new TypeError('no such lock'), 'error', 'no such lock'],
    ] as const
    for (const [error, outcome, text] of errors) {
      const { recorder, of } = bench()
      const lock: LockLike<FakeHeld> = { acquire: () => Promise.reject(error) }
      await expect(recorder.lock(lock, { name: 'lock' }).acquire()).rejects.toBe(error)
      expect(of('acquire-return')).toMatchObject([{ outcome, error: text }])
    }
  })

  test('a try that finds the lock busy is no failure', async () => {
    const { recorder, of } = bench()
    const lock = recorder.lock(
      { acquire: () => Promise.reject(new Error('not here')), tryAcquire: () => Promise.resolve(null) },
      { name: 'lock' },
    )
    expect(await lock.tryAcquire()).toBeNull()
    expect(of('acquire-call')).toMatchObject([{ wait: 0 }])
    expect(of('acquire-return')).toMatchObject([{ outcome: 'busy' }])
  })

  test('what is asked for in one call is recorded and handed on', async () => {
    const { recorder, held, of } = bench()
    const asked: unknown[] = []
    const lock = recorder.lock<FakeHeld>(
      {
        acquire: (options) => {
          asked.push(options)
          return Promise.resolve(held)
        },
      },
      { name: 'lock', ttl: '30s', reentrant: true },
    )
    const outer = await lock.acquire({ ttl: '1s', wait: 0 })
    await lock.acquire({ within: outer.held })
    await lock.acquire()
    expect(asked).toEqual([{ ttl: '1s', wait: 0 }, { within: held }, undefined])
    expect(of('acquire-call')).toMatchObject([{ ttl: 1_000, wait: 0 }, { ttl: 30_000 }, { ttl: 30_000 }])
    expect(of('acquire-return').map(({ within }) => within)).toEqual([null, 'w1-1', 'w1-1'])
  })

  test('reads the answers of any lock to a release', async () => {
    const answers: [() => Promise<ReleaseAnswer>, string, string | null][] = [
      [() => Promise.resolve(), 'unconfirmed', null],
      [() => Promise.resolve(true), 'released', null],
      [() => Promise.resolve(false), 'not-held', null],
      [() => Promise.resolve({ released: true, confirmed: false }), 'unconfirmed', null],
      [() => Promise.resolve({ released: false, reason: 'expired' }), 'not-held', 'expired'],
      [() => Promise.reject(new StoreUnavailableError('silent', 'unknown')), 'unknown', 'STORE_UNAVAILABLE'],
      [() => Promise.reject(new StoreUnavailableError('closed', 'not-done')), 'error', 'STORE_UNAVAILABLE'],
    ]
    for (const [answer, outcome, reason] of answers) {
      const { lock, held, of } = bench()
      held.answer = answer
      const hold = await lock.acquire()
      await hold.release().catch(() => undefined)
      expect(of('release-return')).toMatchObject([{ outcome, reason }])
    }
  })

  test('a lock that has nothing but acquire and release can be recorded too', async () => {
    const { recorder, log, clock } = bench()
    const lock = recorder.lock(
      { acquire: () => Promise.resolve({ release: async () => {} }) },
      { name: 'naive' },
    )
    const hold = await lock.acquire()
    expect(() => hold.assertHeld()).toThrow('no assertHeld')
    await expect(hold.extend('1s')).rejects.toThrow('no extend')
    await hold.release()
    expect(clock.pendingTimers).toBe(0)
    expect(log.records[1]).toMatchObject({ owner: null, fence: null, lease: null, deadline: null })
    await expect(lock.tryAcquire()).rejects.toThrow('no tryAcquire')
    await expect(lock.run(async () => {})).rejects.toThrow('no run')
  })

  test('run: the hold lasts as long as the work, and how its release ended stays unknown', async () => {
    const { lock, clock, kinds, of } = bench()
    const value = await lock.run(async (hold) => {
      hold.assertHeld()
      clock.blockFor(20)
      return 'done'
    })
    expect(value).toBe('done')
    expect(kinds()).toEqual(['acquire-call', 'acquire-return', 'assertion', 'release-call', 'release-return'])
    expect(of('release-call')).toMatchObject([{ time: 1_020 }])
    expect(of('release-return')).toMatchObject([{ outcome: 'unknown' }])
    const failing = bench()
    await expect(failing.lock.run(() => Promise.reject(new Error('work')))).rejects.toThrow('work')
    expect(failing.kinds().slice(-2)).toEqual(['release-call', 'release-return'])
  })
})

describe('the fate of a hold', () => {
  test('a loss is recorded when it is told, once, with the last deadline', async () => {
    const { lock, held, clock, of } = bench()
    const hold = await lock.acquire()
    clock.blockFor(600)
    held.lose('expired')
    expect(of('loss')).toMatchObject([{ hold: hold.id, reason: 'expired', deadline: 1_600, time: 1_600 }])
    await hold.release()
    expect(of('loss')).toHaveLength(1)
    expect(clock.pendingTimers).toBe(0)
  })

  test('a hold that is lost already when it is granted', async () => {
    const { lock, held, kinds } = bench()
    held.lose('expired')
    await lock.acquire()
    expect(kinds()).toEqual(['acquire-call', 'acquire-return', 'loss'])
  })

  test('a signal that aborts by the release itself is no loss', async () => {
    const { lock, held, of } = bench()
    held.answer = () => {
      held.lose('released')
      return Promise.resolve(true)
    }
    await (await lock.acquire()).release()
    expect(of('loss')).toEqual([])
  })

  test('renewals are seen by looking at the deadline, a sixth of the ttl apart', async () => {
    const { lock, held, clock, of } = bench()
    const hold = await lock.acquire()
    await clock.advance(200)
    held.deadline += 200
    await clock.advance(100)
    expect(of('renewal')).toMatchObject([{ hold: hold.id, deadline: 1_800, ttl: null, time: 1_300 }])
    await clock.advance(400)
    expect(of('renewal')).toHaveLength(1)
  })

  test('an extension is a call, and tells which lease was asked for', async () => {
    const { lock, of } = bench()
    const hold = await lock.acquire()
    await hold.extend('5s')
    expect(of('call')).toMatchObject([{ operation: 'extend', name: 'lock' }])
    expect(of('return')).toMatchObject([{ outcome: 'done' }])
    expect(of('renewal')).toMatchObject([{ deadline: 6_000, ttl: 5_000 }])
  })

  test('an extension is told of also where the deadline stays, since the hold ends before', async () => {
    const { lock, held, of } = bench()
    const hold = await lock.acquire()
    held.extend = () => Promise.resolve()
    await hold.extend('5s')
    expect(of('renewal')).toMatchObject([{ deadline: 1_600, ttl: 5_000 }])
  })

  test('an assertion is recorded with the time before it was made', async () => {
    const { lock, held, clock, of } = bench()
    const hold = await lock.acquire()
    const slow = held.assertHeld.bind(held)
    held.assertHeld = () => {
      clock.blockFor(3)
      slow()
    }
    hold.assertHeld()
    clock.blockFor(600)
    expect(() => hold.assertHeld()).toThrow('lost')
    expect(of('assertion')).toMatchObject([
      { passed: true, time: 1_000 },
      { passed: false, time: 1_603 },
    ])
  })

  test('no looking by timer when it is switched off', async () => {
    const clock = new VirtualClock()
    const recorder = new HistoryRecorder({ process: 'w', log: new MemoryHistory(), clock, lookEvery: 0 })
    await recorder
      .lock({ acquire: () => Promise.resolve(new FakeHeld(clock, 600)) }, { name: 'lock' })
      .acquire()
    expect(clock.pendingTimers).toBe(0)
  })
})

describe('a recorder', () => {
  test('records any other promise', async () => {
    const { recorder, of } = bench()
    expect(await recorder.call('inspect', { name: 'lock', budget: '2s' }, () => Promise.resolve(5))).toBe(5)
    await expect(recorder.call('close', {}, () => Promise.reject(new Error('no')))).rejects.toThrow('no')
    expect(of('call')).toMatchObject([
      { operation: 'inspect', name: 'lock', wait: 0, budget: 2_000 },
      { operation: 'close', name: null, budget: 1_000 },
    ])
    expect(of('return')).toMatchObject([
      { outcome: 'done', error: null },
      { outcome: 'failed', error: 'no' },
    ])
  })

  test('takes notes of everything else', () => {
    const { recorder, log } = bench()
    recorder.write({ resource: 'row', fence: 3n, accepted: true, order: 1 })
    recorder.key({ key: 'k', name: 'lock', owner: 'o', expiresIn: null })
    recorder.stop({ subject: 'w2', from: 1, until: 2 })
    recorder.fault({ cause: 'flush', breaks: ['leases'], from: 1, until: 1 })
    recorder.death('w2')
    recorder.leak('timer', 'two of them')
    recorder.end()
    expect(log.records.map(({ kind }) => kind)).toEqual([
      'write',
      'key',
      'stop',
      'fault',
      'death',
      'leak',
      'end',
    ])
    expect(log.records.every(({ process, time }) => process === 'w1' && time === 1_000)).toBe(true)
  })

  test('records a stall of its own process', async () => {
    const { recorder, clock, of } = bench()
    recorder.watchProcess()
    await clock.advance(100)
    clock.blockFor(300)
    await clock.advance(100)
    expect(of('stop')).toMatchObject([{ subject: 'w1', cause: 'stalled', from: 1_100, until: 1_400 }])
    recorder.end()
    expect(clock.pendingTimers).toBe(0)
    expect(process.listenerCount('uncaughtExceptionMonitor')).toBe(0)
  })

  test('by the machine’s clock, time is that of all its processes and not of this one', () => {
    const records = new MemoryHistory()
    const before = machineTime()
    new HistoryRecorder({ process: 'w', log: records }).end()
    const [end] = records.records as [HistoryRecord]
    expect(end.time).toBeGreaterThanOrEqual(before)
    expect(end.time).toBeLessThanOrEqual(machineTime())
    // A process just started would say a few hundred milliseconds.
    expect(Math.abs(machineTime() - Number(process.hrtime.bigint()) / 1e6)).toBeLessThan(1_000)
  })
})

import { InvalidArgumentError, LockLostError, LockTimeoutError, type Holdfast } from 'holdfast'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sleep, waitFor } from '../../src/index.ts'
import { places, type Place } from './places.ts'

/**
 * Goal: several names are had all or none, on every store; whoever wants the same ones in another order never waits for ever.
 * Method: two or three processes on one place of each store.
 */

describe.each(Object.keys(places) as (keyof typeof places)[])('lockAll on %s', (kind) => {
  let place: Place
  let one: Holdfast
  let two: Holdfast
  let names = 0
  /** A grant of a quorum may take 600 ms. */
  const short = kind === 'a quorum' ? 1_500 : 600
  /** Names that no other test uses, in an order that is not theirs. */
  const fresh = () => {
    names += 1
    return [`b${names}`, `c${names}`, `a${names}`] as [string, string, string]
  }
  const free = async (...all: string[]) => {
    for (const name of all) {
      await waitFor(async () => (await one.inspect(name)) === null, { what: `${name} to be free` })
    }
  }

  beforeAll(async () => {
    place = await places[kind]()
    one = await place.another()
    two = await place.another()
  })
  afterAll(() => place.end())

  test('all are had, with a fence each, and given back', async () => {
    const [b, c, a] = fresh()
    const before = await one.lock(a).acquire()
    await before.release()
    const held = await one.lockAll([b, c, a]).acquire()
    expect(held.names).toEqual([b, c, a])
    expect(Object.keys(held.fences)).toEqual([b, c, a])
    for (const name of [a, b, c]) {
      const info = await two.inspect(name)
      // A node of a quorum shows the fence that it made itself.
      if (kind !== 'a quorum') expect(info?.fence).toBe(held.fences[name])
      expect(info).not.toBeNull()
      expect(await two.lock(name).tryAcquire()).toBeNull()
    }
    expect(held.fences[a]).toBeGreaterThan(before.fence)
    expect(held.remaining()).toBeGreaterThan(20_000)
    await held.extend('2m')
    expect(held.remaining()).toBeGreaterThan(100_000)
    held.assertHeld()
    expect(held.signal.aborted).toBe(false)
    expect(JSON.parse(JSON.stringify(held))).toMatchObject({ names: [b, c, a], lost: null })
    expect(await held.release()).toEqual({ released: true, confirmed: true })
    expect(await held.release()).toMatchObject({ released: true })
    expect(() => held.assertHeld()).toThrow(LockLostError)
    expect(held.lost).toBeNull()
    await free(a, b, c)
  })

  test('one is busy: none is had, and who has it is said', async () => {
    const [b, c, a] = fresh()
    const holder = await two.lock(c).acquire()
    expect(await one.lockAll([b, c, a]).tryAcquire()).toBeNull()
    expect(await one.lockAll([b, c, a]).tryRun(() => 1)).toEqual({ ran: false, holder: holder.owner })
    await free(a, b)
    const failed: unknown = await one
      .lockAll([b, c, a], { wait: 150 })
      .acquire()
      .catch((error: unknown) => error)
    expect(failed).toBeInstanceOf(LockTimeoutError)
    expect(failed).toMatchObject({ holder: holder.owner, details: { lock: c } })
    await free(a, b)
    await holder.release()
    expect(await one.lockAll([b, c, a]).run((held) => Object.keys(held.fences).length)).toBe(3)
    await free(a, b, c)
  })

  test('it waits for the one that is busy, and gets all', async () => {
    const [b, c, a] = fresh()
    const holder = await two.lock(b).acquire()
    const waiting = one.lockAll([b, c, a], { wait: '10s' }).acquire()
    await sleep(200)
    await holder.release()
    const held = await waiting
    expect(held.fences[b]).toBeGreaterThan(holder.fence)
    await held.release()
    await free(a, b, c)
  })

  test('B8: two want the same in opposite orders, 200 times: never both, and never stuck', async () => {
    const [b, c, a] = fresh()
    let inside = 0
    let most = 0
    const times = kind === 'memory' || kind.startsWith('redis') ? 100 : 25
    const work = async (hf: Holdfast, wanted: string[]) => {
      for (let i = 0; i < times; i += 1) {
        await hf.lockAll(wanted, { wait: '15s' }).run(async () => {
          inside += 1
          most = Math.max(most, inside)
          await Promise.resolve()
          inside -= 1
        })
      }
    }
    await Promise.all([work(one, [a, b, c]), work(two, [c, b, a]), one.lock(b, { wait: '30s' }).run(() => 1)])
    expect(most).toBe(1)
    await free(a, b, c)
  })

  test('B8: aborted while it waits for the last one: none stays held', async () => {
    const [b, c, a] = fresh()
    const holder = await two.lock(c).acquire()
    const controller = new AbortController()
    const waiting = one.lockAll([b, c, a], { wait: '10s' }).acquire({ signal: controller.signal })
    await waitFor(async () => (await two.inspect(a)) !== null, { what: 'the first to be taken' })
    controller.abort(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
    await free(a, b)
    await expect(one.lockAll([a, b]).acquire({ signal: controller.signal })).rejects.toThrow('enough')
    await holder.release()
    await free(a, b, c)
  })

  test('one is lost: all are, and the others are given back', async () => {
    const [b, c, a] = fresh()
    const held = await one.lockAll([b, c, a], { ttl: short }).acquire()
    const aborted = new Promise<unknown>((resolve) => {
      held.signal.addEventListener('abort', () => resolve(held.signal.reason))
    })
    await two.forceRelease(b)
    const reason = await aborted
    expect(reason).toBeInstanceOf(LockLostError)
    expect((reason as Error).message).toContain(b)
    expect(held.lost).toMatch(/^(forced|missing)$/)
    expect(held.remaining()).toBe(0)
    expect(() => held.assertHeld()).toThrow(b)
    await free(a, b, c)
    expect(await held.release()).toMatchObject({ released: false, reason: held.lost })
  })

  test('run: the loss is told with what the work came to; its own error is never replaced', async () => {
    const [b, , a] = fresh()
    const locks = one.lockAll([b, a], { ttl: short })
    const lost: unknown = await locks
      .run(async (held) => {
        await two.forceRelease(a)
        await waitFor(() => held.lost !== null, { what: 'the loss' })
        return 'value'
      })
      .catch((error: unknown) => error)
    expect(lost).toBeInstanceOf(LockLostError)
    expect(lost).toMatchObject({ work: { value: 'value' } })
    const own = new Error('own')
    await expect(
      locks.run(() => {
        throw own
      }),
    ).rejects.toBe(own)
    await free(a, b)
  })

  test('close: gives all back, and who waits is told', async () => {
    const [b, c, a] = fresh()
    const third = await place.another()
    const held = await third.lockAll([a, b]).acquire()
    const waiting = third.lockAll([c, b, a], { wait: '10s' }).acquire()
    const rejected = expect(waiting).rejects.toMatchObject({ code: 'CLOSED' })
    await sleep(50)
    await third.close()
    await rejected
    expect(held.remaining()).toBe(0)
    await free(a, b, c)
  })
})

describe('what is asked for', () => {
  let place: Place
  let hf: Holdfast
  beforeAll(async () => {
    place = await places.memory()
    hf = await place.another()
  })
  afterAll(() => place.end())

  test.each([
    ['no list', 'a', /no list of names.*\['account:1'/s],
    ['nothing', undefined, /no list of names/],
    ['an empty list', [], /is empty, so that nothing would be locked/],
    ['one name twice', ['a', 'b', 'a'], /"a".*is there twice.*new Set/s],
    ['too many', Array.from({ length: 65 }, (_, i) => `n${i}`), /65.*64 is the most/s],
    ['an empty name', ['a', ''], /is empty/],
    ['a name that is no text', ['a', 1], /is not a string/],
  ])('%s is refused, by name', (_, names, message) => {
    expect(() => hf.lockAll(names as string[])).toThrow(InvalidArgumentError)
    expect(() => hf.lockAll(names as string[])).toThrow(message)
  })

  test('options of a single lock that make no sense here are refused', () => {
    expect(() => hf.lockAll(['a'], { key: 'x' } as object)).toThrow(/key/)
    expect(() => hf.lockAll(['a'], { reentrant: true } as object)).toThrow(/reentrant/)
    expect(() => hf.lockAll(['a'], { ttl: 'soon' } as object)).toThrow(/ttl/)
  })

  test('a single name, sixty-four, and hostile ones', async () => {
    await hf.lockAll(['one']).run(() => 1)
    const names = Array.from({ length: 64 }, (_, i) => `n${i}`)
    expect(await hf.lockAll(names).run((held) => held.names.length)).toBe(64)
    const hostile = ['__proto__', '{', '}{', 'a b', 'constructor']
    const fences = await hf.lockAll(hostile).run((held) => held.fences)
    for (const name of hostile) expect(typeof fences[name]).toBe('bigint')
  })

  test('a lease that is over before the last one is had is not handed out', async () => {
    const other = await place.another()
    const holder = await other.lock('z').acquire()
    const waiting = hf.lockAll(['y', 'z'], { ttl: 100, renew: false, wait: '3s' }).acquire()
    await sleep(300)
    await holder.release()
    const held = await waiting
    expect(held.lost).toBeNull()
    expect(held.remaining()).toBeGreaterThan(0)
    await held.release()
  })

  test('under two prefixes each name is held under both', async () => {
    const both = await place.another({ prefix: 'new:v1', alsoPrefix: 'old:v1' })
    const old = await place.another({ prefix: 'old:v1' })
    const held = await both.lockAll(['p', 'q']).acquire()
    expect(await old.lock('p').tryAcquire()).toBeNull()
    expect(await old.lock('q').tryAcquire()).toBeNull()
    await held.release()
    await old.lockAll(['q', 'p']).run(() => 1)
  })
})

import type { Policy } from '../../../holdfast/src/store/limit/policy.ts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { sleep, startRedis, waitFor, type RedisServer } from '../../src/index.ts'
import { limitScripts } from './clocked-port.ts'
import { everyKind, firstOf, LimitScene } from './limit-scene.ts'

/**
 * Goal: no key of ours without an expiry, no key that nobody needs, no key that was not declared, and little memory.
 * Method: a server of our own, looked at past the library after every path.
 */

const DAY = 86_400_000

let server: RedisServer
let scene: LimitScene

beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())
beforeEach(async () => {
  await server.command('FLUSHALL')
  scene = await LimitScene.open(server)
})
afterEach(async () => {
  await server.allowEverything()
  await scene.end()
})

const all = everyKind(10, DAY)
const large: Policy = { kind: 'sliding-window', name: 'large', limit: 5_000, per: DAY }
const sets: readonly (readonly Policy[])[] = [...all.map((policy) => [policy]), [large], [...all, large]]

/** Takes one subject through everything that can happen to it, and looks after each step. */
async function everyPath(
  subject: string,
  policies: readonly Policy[],
  look: () => Promise<void>,
): Promise<void> {
  const address = scene.address(subject)
  const { limits } = scene
  const id = 'a'.repeat(22)
  const taken = await scene.decided(subject, policies, { cost: 3, id })
  expect(taken.allowed).toBe(true)
  await look()
  await scene.decided(subject, policies, { cost: 2, returnAfter: 20 })
  await look()
  expect((await scene.decided(subject, policies, { cost: 1_000_000 })).allowed).toBe(false)
  await scene.decided(subject, policies, { cost: 9, countDenied: true })
  await scene.peek(subject, policies)
  await look()
  await limits.renew({ address, policies, take: id }, scene.attempt())
  await look()
  await scene.adjust(subject, policies, { take: id, at: taken.at, taken: 3, cost: 6 })
  await look()
  await scene.adjust(subject, policies, { take: id, at: taken.at, taken: 6, cost: 1 })
  await look()
  await sleep(25)
  // What was reserved is given back now.
  await scene.peek(subject, policies)
  await scene.decided(subject, policies)
  await look()
  await limits.block({ address, policies, duration: 60_000 }, scene.attempt())
  await look()
  expect((await scene.decided(subject, policies)).blockedFor).toBeGreaterThan(0)
  await limits.reset({ address, policies }, scene.attempt())
  expect(await scene.keys()).toEqual([address.key])
  await look()
  await limits.block({ address, policies, duration: 0 }, scene.attempt())
  expect(await scene.keys()).toEqual([])
}

describe('expiry', () => {
  test('E9: after every path every key has an expiry', async () => {
    for (const [n, policies] of sets.entries()) {
      await everyPath(`subject${n}`, policies, async () => expect(await scene.endless()).toEqual([]))
    }
  })

  test('E9: a key that has lost its expiry gets one at the next decision, admitted or denied', async () => {
    for (const [n, policies] of sets.entries()) {
      for (const cost of [1, 8, 20_000]) {
        for (const returnAfter of [null, 60_000]) {
          const subject = `lost${n} ${cost} ${returnAfter}`
          await scene.decided(subject, policies, { cost: 3, returnAfter })
          const before = await scene.peek(subject, policies)
          const keys = (await scene.keys()).filter((key) => key.startsWith(scene.address(subject).key))
          expect(keys).toHaveLength(policies.length + (returnAfter === null ? 0 : 1))
          for (const key of keys) expect(await server.command('PERSIST', key)).toBe(1)
          const { allowed } = await scene.decided(subject, policies, { cost })
          expect(await scene.endless()).toEqual([])
          const after = await scene.peek(subject, policies)
          expect(firstOf(after).remaining).toBe(firstOf(before).remaining - (allowed ? cost : 0))
        }
      }
    }
  })

  test('E8, E9: what a key without expiry holds from a window that is over does not count in the next one', async () => {
    const policies = [
      ...everyKind(10, 150),
      { kind: 'sliding-window', name: 'large', limit: 5_000, per: 150 } as const,
    ]
    for (const set of [...policies.map((policy): readonly Policy[] => [policy]), policies]) {
      const subject = set.map(({ name }) => name).join()
      const { at } = await scene.decided(subject, set, { cost: 3 })
      const keys = (await scene.keys()).filter((key) => key.startsWith(scene.address(subject).key))
      for (const key of keys) await server.command('PERSIST', key)
      // The longest: the window after the one of the take.
      await sleep(at + 2 * 150 + 1 - Date.now())
      const { policies: verdicts } = await scene.decided(subject, set)
      expect(verdicts.map(({ remaining }) => remaining)).toEqual(
        set.map(({ name }) => (name === 'large' ? 4_999 : 9)),
      )
      expect(await scene.endless()).toEqual([])
    }
  })

  test('E12, E16: a peek, a refund, a renewal and a denied take of what is not there make no key', async () => {
    for (const policies of sets) {
      const address = scene.address('nobody')
      await scene.peek('nobody', policies)
      await scene.decided('nobody', policies, { cost: 1_000_000 })
      const change = { take: 'b'.repeat(22), at: Date.now(), taken: 5, cost: 0 }
      await scene.adjust('nobody', policies, change)
      await scene.adjust('nobody', policies, { ...change, cost: 9 })
      await scene.limits.renew({ address, policies, take: change.take }, scene.attempt())
      expect(await scene.keys()).toEqual([])
    }
  })

  test('E10: windows from a millisecond to a year, rates from one a day to a million a second', async () => {
    const year = 365 * DAY
    const policies: readonly (readonly [Policy, number])[] = [
      ...[1, 500, 1_900, 60_000, year].flatMap((per): (readonly [Policy, number])[] => [
        [{ kind: 'fixed-window', name: `f${per}`, limit: 5, per }, per],
        [{ kind: 'sliding-window', name: `w${per}`, limit: 5, per }, per],
        [{ kind: 'sliding-counter', name: `c${per}`, limit: 5, per }, 2 * per],
        [{ kind: 'concurrency', name: `s${per}`, limit: 5, lease: per }, per],
      ]),
      [{ kind: 'token-bucket', name: 'daily', capacity: 5, refill: 1, per: DAY }, DAY],
      [{ kind: 'token-bucket', name: 'fast', capacity: 1_000_000, refill: 1_000_000, per: 1_000 }, 1],
      [{ kind: 'leaky-bucket', name: 'yearly', capacity: 5, rate: 1, per: year }, year],
    ]
    for (const [policy, longest] of policies) {
      const verdict = await scene.decided('spans', [policy])
      expect(verdict.allowed).toBe(true)
      const { resetAfter } = firstOf(verdict)
      expect(resetAfter).toBeGreaterThan(0)
      expect(resetAfter).toBeLessThanOrEqual(longest)
      const expiry = (await server.command(
        'PEXPIRETIME',
        `${scene.address('spans').key}:${policy.name}`,
      )) as number
      // Those of a millisecond may be gone by now.
      const over = verdict.at + resetAfter
      if (expiry !== -2) expect(expiry).toBe(resetAfter > 1 ? over - 1 : over)
      else expect(longest).toBeLessThan(1_000)
    }
  })

  test('E15: 20 000 subjects, then idle for two windows: no key is left', async () => {
    const policies: readonly Policy[] = [
      { kind: 'token-bucket', name: 'bucket', capacity: 3, refill: 3, per: 1_000 },
      { kind: 'sliding-window', name: 'window', limit: 3, per: 1_000 },
    ]
    for (let n = 0; n < 20_000; n += 1_000) {
      const batch = Array.from({ length: 1_000 }, (_, i) => scene.take(`subject${n + i}`, policies))
      for (const { kind } of await Promise.all(batch)) expect(kind).toBe('done')
    }
    await sleep(2_000)
    await waitFor(async () => (await server.command('DBSIZE')) === 0, {
      what: 'the last key to expire',
      within: 10_000 + 2 * scene.budget,
    })
  })
})

describe('what is touched', () => {
  test('every script does its work with no more than the keys of one subject and the replies of its calls', async () => {
    const keys = ['~' + scene.address('a').key + '*', `~${scene.prefix}:{limits}:reply:*`]
    const commands = ['+@scripting', '+@read', '+@write', '+time', '+@connection', '+info']
    await server.command('ACL', 'SETUSER', 'default', 'resetkeys', '-@all', ...commands, ...keys)
    await server.command('ACL', 'LOG', 'RESET')
    for (const policies of sets) await everyPath('a', policies, async () => {})
    expect(await server.command('ACL', 'LOG')).toEqual([])
  })

  test('B9: all keys of a call but its reply lie in the slots of its subjects', async () => {
    await everyPath('a', all, async () => {})
    await Promise.all(['b{', 'c'].map((subject) => scene.decided(subject, all)))
    const subjects = new Set(['a', 'b{', 'c'].map((subject) => scene.address(subject).key))
    for (const { command } of scene.proxy.log) {
      const [name = '', sha1, count = '0', ...rest] = command
      if (!limitScripts.some((script) => script.sha1 === sha1 || script.source === sha1)) continue
      expect(name).toMatch(/^EVAL/)
      for (const key of rest.slice(0, Number(count))) {
        if (key.startsWith(`${scene.prefix}:{limits}:reply:`)) continue
        expect([...subjects].some((subject) => key === subject || key.startsWith(`${subject}:`))).toBe(true)
      }
    }
  })

  test.each(['{}', '}{', '*', 'a\nb', 'a\0b', ' ', 'ä€😀', '@5', '%', 'a|b'])(
    'a hostile subject %j has usage of its own',
    async (subject) => {
      expect(firstOf(await scene.decided(subject, all)).remaining).toBe(9)
      expect(firstOf(await scene.decided(subject, all)).remaining).toBe(8)
      expect(firstOf(await scene.decided('another', all)).remaining).toBe(9)
      expect(await scene.keys()).toHaveLength(2 * all.length)
      const [first = ''] = await scene.keys()
      expect(first).toMatch(/^limits\d+:v1:\{api\|[^{}]+\}:limit:/)
    },
  )
})

test('a subject of 10 000 characters has usage of its own, under a short key', async () => {
  const subjects = ['x'.repeat(10_000), 'x'.repeat(9_999) + 'y']
  for (const subject of subjects) expect(firstOf(await scene.decided(subject, all)).remaining).toBe(9)
  for (const key of await scene.keys()) expect(key.length).toBeLessThan(600)
})

describe('memory', () => {
  const usage = async (key: string) => (await server.command('MEMORY', 'USAGE', key)) as number

  test('R9: a bucket takes no more than 90 bytes with a key of 32', async () => {
    const prefix = 'p'
    const policies: readonly (readonly Policy[])[] = [
      [{ kind: 'token-bucket', name: 'b', capacity: 20, refill: 10, per: 1_000 }],
      [{ kind: 'token-bucket', name: 'b', capacity: 100, refill: 100, per: 60_000 }],
      [{ kind: 'leaky-bucket', name: 'b', capacity: 50, rate: 10, per: 1_000 }],
    ]
    for (const set of policies) {
      await server.command('FLUSHALL')
      const key = `${prefix}:{n|${'s'.repeat(32 - `${prefix}:{n|}:limit:b`.length)}}:limit`
      const address = { limiter: 'n', subject: 's', prefix, key }
      const ask = {
        address,
        policies: set,
        cost: 15,
        id: 'c'.repeat(22),
        countDenied: false,
        returnAfter: null,
      }
      await scene.limits.take(ask, scene.attempt())
      const [found = ''] = (await server.command('KEYS', `${key}:*`)) as string[]
      expect(found).toHaveLength(32)
      expect(await usage(found)).toBeLessThanOrEqual(90)
    }
  })

  test.each([
    [100, 1_126],
    [10_000, 174_080],
  ])('R9: an exact window of %i that is full takes no more than %i bytes', async (limit, bytes) => {
    const window: readonly Policy[] = [{ kind: 'sliding-window', name: 'window', limit, per: 600_000 }]
    // Each in a millisecond of its own, as a real crowd comes: the ring has as many entries as it can.
    const key = `${scene.address('full').key}:window`
    for (let used = 0; used < limit;) {
      const { remaining } = firstOf(await scene.decided('full', window))
      if (limit <= 100) await sleep(2)
      used = limit - remaining
    }
    expect((await scene.decided('full', window)).allowed).toBe(false)
    const entries = (await server.command('STRLEN', key)) as number
    expect(entries).toBeGreaterThanOrEqual(limit <= 100 ? 8 * 99 : 0)
    expect(await usage(key)).toBeLessThanOrEqual(bytes)
  })
})

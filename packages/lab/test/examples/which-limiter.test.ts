import {
  concurrency,
  createHoldfast,
  fixedWindow,
  leakyBucket,
  slidingCounter,
  slidingWindow,
  tokenBucket,
} from 'holdfast'
import type { Holdfast, Policy } from 'holdfast'
import { memoryStore } from 'holdfast/memory'
import { redisStore } from 'holdfast/redis'
import { VirtualClock } from 'holdfast/testing'
import { Redis } from 'ioredis'
import { readdirSync, readFileSync } from 'node:fs'
import { beforeEach, describe, expect, test } from 'vitest'
import { sendCodes } from '../../../../examples/which-limiter/codes.ts'
import { guardLogin } from '../../../../examples/which-limiter/login.ts'
import { callPartner } from '../../../../examples/which-limiter/partner.ts'
import { limitUsers } from '../../../../examples/which-limiter/per-user.ts'
import { makeReports } from '../../../../examples/which-limiter/reports.ts'
import { meterTokens } from '../../../../examples/which-limiter/tokens.ts'
import { sleep, startRedis } from '../../src/index.ts'

/**
 * Goal: the guide "Which limiter?" is true: its recipes run and do what it says of them, its numbers hold.
 * Method: the recipes are files, which the guide shows word by word. They run on a virtual clock, in two processes' stead.
 */

const GUIDE = readFileSync(new URL('../../../../docs/which-limiter.md', import.meta.url), 'utf8')
const RECIPES = new URL('../../../../examples/which-limiter/', import.meta.url)

/** Versions of Redis and of its allocator need a little more or less for the same. */
const SERVERS_DIFFER = 1.25

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

let clock: VirtualClock
/** Two instances over one store. */
let hf: Holdfast
let other: Holdfast
beforeEach(() => {
  clock = new VirtualClock()
  const store = memoryStore()
  hf = createHoldfast({ store, clock })
  other = createHoldfast({ store, clock })
})

function repeat<T>(count: number, once: () => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, once))
}

test('the guide shows every recipe, word by word, and no code beside them', () => {
  const shown = [...GUIDE.matchAll(/^```ts\n([\s\S]*?)^```/gm)].map(([, code = '']) => code)
  const files = readdirSync(RECIPES).map((file) => readFileSync(new URL(file, RECIPES), 'utf8'))
  expect(shown.toSorted()).toEqual(files.toSorted())
})

describe('100 requests per user and minute', () => {
  const statuses = (replies: readonly { status: number }[]) =>
    [200, 429].map((status) => replies.filter((reply) => reply.status === status).length)

  test('over all instances, and each user by themselves', async () => {
    const [here, there] = [limitUsers(hf, () => false), limitUsers(other, () => false)]
    const replies = await Promise.all([repeat(60, () => here('ada')), repeat(60, () => there('ada'))])
    expect(statuses(replies.flat())).toEqual([100, 20])
    expect(await there('grace')).toEqual({ status: 200 })
    expect(await here('ada')).toEqual({ status: 429, retryAfter: MINUTE })
    await clock.advance(MINUTE)
    expect(await here('ada')).toEqual({ status: 200 })
  })

  test('1000 for those who pay', async () => {
    const ask = limitUsers(hf, (user) => user === 'ada')
    expect(statuses(await repeat(1_001, () => ask('ada')))).toEqual([1_000, 1])
    expect(statuses(await repeat(101, () => ask('grace')))).toEqual([100, 1])
  })
})

describe('one code per phone number and minute, five a day', () => {
  test('one a minute, and the sixth of a day is refused for the rest of it', async () => {
    const sent: string[] = []
    const sendCode = sendCodes(hf, async (phone) => void sent.push(phone))
    for (let n = 0; n < 5; n += 1) {
      expect(await sendCode('+1 555')).toEqual({ sent: true })
      expect(await sendCode('+1 555')).toMatchObject({ sent: false })
      await clock.advance(MINUTE)
    }
    expect(await sendCode('+1 555')).toEqual({
      sent: false,
      because: 'day',
      retryAfter: 24 * HOUR - 5 * MINUTE,
    })
    expect(sent).toHaveLength(5)
    await clock.advance(24 * HOUR - 5 * MINUTE)
    expect(await sendCode('+1 555')).toEqual({ sent: true })
  })

  test('tries that were refused use up neither the minute nor the day', async () => {
    const sendCode = sendCodes(hf, async () => undefined)
    await repeat(20, () => sendCode('+1 555'))
    for (let n = 0; n < 4; n += 1) {
      await clock.advance(MINUTE)
      expect(await sendCode('+1 555')).toEqual({ sent: true })
    }
  })

  test('a code that was not sent does not count', async () => {
    const failing = sendCodes(hf, () => Promise.reject(new Error('the carrier is down')))
    await expect(failing('+1 555')).rejects.toThrow('the carrier is down')
    expect(await sendCodes(other, async () => undefined)('+1 555')).toEqual({ sent: true })
  })
})

describe('login attempts', () => {
  const isRight = async (_account: string, password: string) => password === 'right'

  test('five failures, and an hour is over for this account from this address, and for no other', async () => {
    const login = guardLogin(hf, isRight)
    for (let n = 0; n < 5; n += 1) expect(await login('ada', '1.1.1.1', 'wrong')).toMatchObject({ in: false })
    const elsewhere = guardLogin(other, isRight)
    await clock.advance(30 * MINUTE)
    expect(await elsewhere('ada', '1.1.1.1', 'right')).toEqual({ in: false, retryAfter: 30 * MINUTE })
    expect(await elsewhere('ada', '2.2.2.2', 'right')).toEqual({ in: true })
    await clock.advance(30 * MINUTE)
    expect(await login('ada', '1.1.1.1', 'right')).toEqual({ in: true })
  })

  test('who knows the password is never kept out, however often', async () => {
    const login = guardLogin(hf, isRight)
    for (let n = 0; n < 20; n += 1) expect(await login('ada', '1.1.1.1', 'right')).toEqual({ in: true })
  })

  test('of a hundred guesses at once five are looked at', async () => {
    let looked = 0
    const login = guardLogin(hf, async () => {
      looked += 1
      return false
    })
    await repeat(100, () => login('ada', '1.1.1.1', 'a guess'))
    expect(looked).toBe(5)
  })
})

describe('a budget of model tokens', () => {
  test('what a call did not use is there for the next', async () => {
    const ask = meterTokens(hf, async (prompt) => ({ text: prompt, tokens: 100 }))
    for (let n = 0; n < 50; n += 1) expect(await ask('ada', 'hello', 4_000)).toEqual({ text: 'hello' })
    // 5000 of 10 000 are used: 4000 pass, 6000 have to wait until a thousand have flowed in.
    expect(await ask('ada', 'hello', 6_000)).toEqual({ refused: 'minute', retryAfter: 6 * SECOND })
  })

  test('calls at once share the budget, before it is known what they use', async () => {
    let asked = 0
    const ask = meterTokens(hf, async () => {
      asked += 1
      return new Promise(() => {})
    })
    void repeat(10, () => ask('ada', 'hello', 4_000))
    await clock.advance(1)
    expect(asked).toBe(2)
  })

  test('a call that failed costs nothing; a prompt above the budget never passes', async () => {
    const failing = meterTokens(hf, () => Promise.reject(new Error('overloaded')))
    await expect(failing('ada', 'hello', 10_000)).rejects.toThrow('overloaded')
    const ask = meterTokens(other, async () => ({ text: 'hi', tokens: 1 }))
    expect(await ask('ada', 'hello', 10_000)).toEqual({ text: 'hi' })
    expect(await ask('ada', 'hello', 10_001)).toEqual({ refused: 'too long', retryAfter: null })
  })

  test('a call whose process died stays counted', async () => {
    void meterTokens(hf, () => new Promise(() => {}))('ada', 'hello', 10_000)
    await clock.advance(3 * MINUTE)
    const day = other.limiter('tokens', [
      tokenBucket({ capacity: 10_000, refill: 10_000, per: '1m', name: 'minute' }),
      slidingWindow({ limit: 200_000, per: '1d', name: 'day' }),
    ])
    const { policies } = await day.peek('ada', { cost: 1 })
    expect(policies.find(({ name }) => name === 'day')).toMatchObject({ remaining: 189_999 })
  })
})

describe('expensive reports', () => {
  test('two at once over all instances; the third waits, and gives up after ten seconds', async () => {
    const ends: (() => void)[] = []
    let most = 0
    let now = 0
    const make = async (tenant: string) => {
      most = Math.max(most, (now += 1))
      await new Promise<void>((resolve) => ends.push(resolve))
      now -= 1
      return `report of ${tenant}`
    }
    const [here, there] = [makeReports(hf, make), makeReports(other, make)]
    const made = [here('acme'), there('acme'), here('acme')]
    await clock.advance(5 * SECOND)
    expect(ends).toHaveLength(2)
    ends[0]?.()
    await clock.advance(SECOND)
    expect(ends).toHaveLength(3)
    const late = there('acme')
    await clock.advance(11 * SECOND)
    expect(await late).toBeNull()
    for (const end of ends) end()
    expect(await Promise.all(made)).toEqual(Array.from({ length: 3 }, () => 'report of acme'))
    expect(most).toBe(2)
    await Promise.all([hf.close(), other.close()])
  })
})

describe('smooth calls to a partner', () => {
  test('one every 100 ms, from all instances together; who is too far back learns it at once', async () => {
    const went: number[] = []
    const call = async () => void went.push(clock.monotonic())
    const [here, there] = [callPartner(hf, call), callPartner(other, call)]
    const began = clock.monotonic()
    const calls = [repeat(30, () => here('order')), repeat(30, () => there('order'))].map((each) =>
      each.then(
        () => 'all went',
        () => 'some did not',
      ),
    )
    await clock.advance(10 * SECOND)
    expect(await Promise.all(calls)).toContain('some did not')
    const gaps = went.toSorted((a, b) => a - b).map((at, n, all) => at - (all[n - 1] ?? at - 100))
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(99)
    expect(went.length).toBeGreaterThanOrEqual(50)
    expect(Math.max(...went) - began).toBeLessThanOrEqual(5 * SECOND + 1)
  })
})

/** The cells of the row of the guide's second table that begins with this policy. */
function rowOf(name: string): string[] {
  const row = GUIDE.split('\n').find((line) => line.startsWith(`| \`${name}\` |`) && / B /.test(line))
  return (row ?? '').split('|').map((cell) => cell.trim())
}

describe('what each lets through, at worst', () => {
  const limits = { limit: 100, per: MINUTE }

  /** The most that passes in less than `MINUTE`, when at each of these times as much is taken as will pass. */
  async function mostInAMinute(policy: Policy, times: readonly number[]): Promise<number> {
    const limiter = hf.limiter(policy.kind, policy, { rememberFor: 0 })
    const passed: number[] = []
    const start = Math.ceil(clock.wall() / MINUTE) * MINUTE
    for (const time of times.toSorted((a, b) => a - b)) {
      await clock.advance(start + time - clock.wall())
      while ((await limiter.take('ada')).allowed) passed.push(time)
    }
    return Math.max(...passed.map((from) => passed.filter((at) => at >= from && at < from + MINUTE).length))
  }

  /** Around an edge, and every second for two minutes. */
  const around = [MINUTE - 1, MINUTE, ...Array.from({ length: 120 }, (_, n) => MINUTE + n * SECOND - 2)]

  test('fixedWindow: twice the limit', async () => {
    expect(rowOf('fixedWindow')[2]).toContain('2 × `limit`')
    expect(await mostInAMinute(fixedWindow(limits), around)).toBe(200)
  })

  test('slidingWindow: the limit', async () => {
    expect(rowOf('slidingWindow')[2]).toContain('`limit`, exactly')
    expect(await mostInAMinute(slidingWindow(limits), around)).toBe(100)
  })

  test('slidingCounter: more than the limit when bunched, and below twice as much', async () => {
    expect(rowOf('slidingCounter')[2]).toContain('below 2 × `limit`')
    const most = await mostInAMinute(slidingCounter(limits), around)
    expect(most).toBeGreaterThan(150)
    expect(most).toBeLessThan(200)
  })

  test('tokenBucket: the burst, and what flows in', async () => {
    expect(rowOf('tokenBucket')[2]).toContain('`capacity + refill`')
    const most = await mostInAMinute(tokenBucket({ capacity: 20, refill: 60, per: MINUTE }), around)
    expect(most).toBeGreaterThanOrEqual(78)
    expect(most).toBeLessThanOrEqual(80)
  })

  test('leakyBucket: lets in what stands in line, and what leaves it', async () => {
    expect(rowOf('leakyBucket')[2]).toContain('`capacity + rate`')
    const most = await mostInAMinute(leakyBucket({ capacity: 20, rate: 60, per: MINUTE }), around)
    expect(most).toBeGreaterThanOrEqual(78)
    expect(most).toBeLessThanOrEqual(80)
  })
})

test('what each needs on Redis', async () => {
  const server = await startRedis()
  const client = new Redis(server.url)
  const redis = createHoldfast({ store: redisStore(client), prefix: 'guide' })
  try {
    /** A hundred takes, no two in one millisecond, and the memory of their keys of 60 characters. */
    const memoryOf = async (policy: Policy): Promise<number> => {
      const start = `guide:{${policy.kind}|`
      const end = `}:limit:${policy.name}`
      const subject = 'u'.repeat(60 - start.length - end.length)
      const limiter = redis.limiter(policy.kind, policy, { budget: '5s' })
      for (let n = 0; n < 100; n += 1) {
        expect((await limiter.take(subject)).allowed).toBe(true)
        await sleep(1)
      }
      return (await client.memory('USAGE', `${start}${subject}${end}`)) as number
    }
    const per = '10m'
    const small = [
      [fixedWindow({ limit: 100, per }), 'fixedWindow'],
      [slidingCounter({ limit: 100, per }), 'slidingCounter'],
      [tokenBucket({ capacity: 100, refill: 1, per }), 'tokenBucket'],
      [leakyBucket({ capacity: 100, rate: 1, per }), 'leakyBucket'],
    ] as const
    for (const [policy, name] of small) {
      expect(rowOf(name)[3]).toBe('140 B')
      expect(await memoryOf(policy)).toBeLessThanOrEqual(140 * SERVERS_DIFFER)
    }
    expect(rowOf('slidingWindow')[3]).toContain('1 KB with 100 of them')
    expect(await memoryOf(slidingWindow({ limit: 100, per }))).toBeLessThanOrEqual(1_024 * SERVERS_DIFFER)
    expect(rowOf('concurrency')[3]).toContain('4 KB with 100')
    expect(await memoryOf(concurrency({ limit: 100 }))).toBeLessThanOrEqual(4_000 * SERVERS_DIFFER)
  } finally {
    await redis.close()
    client.disconnect()
    await server.stop()
  }
})

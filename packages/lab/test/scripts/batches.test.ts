import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { clientKinds } from '../../src/clients.ts'
import { startRedis, waitFor, type RedisServer } from '../../src/index.ts'
import { Scene } from '../support/scene.ts'

/**
 * Goal: operations that travel in one call end each by themselves.
 * Method: many of one kind in one turn, some of them about keys that hold something else or that the user may not touch.
 * The proxy tells how many calls there were.
 */

/** A budget so long that nothing is asked twice because the machine is busy: calls are counted. */
const PATIENT_MS = 20_000

let server: RedisServer
let scene: Scene

beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())
afterEach(async () => {
  await server.allowEverything()
  await scene.end()
  await server.command('FLUSHALL')
})

const names = (count: number) => Array.from({ length: count }, (_, n) => `n${n}`)
const scriptCalls = () => {
  const { EVALSHA = 0, EVAL = 0 } = scene.proxy.commands.byName
  return EVALSHA + EVAL
}

/** Does something for each name in one turn; the first lone call goes ahead of the others. */
async function together<T>(all: readonly string[], run: (name: string) => Promise<T>) {
  scene.proxy.resetCounts()
  return Promise.allSettled(all.map(run))
}

const codes = (results: readonly PromiseSettledResult<unknown>[]) =>
  results.map((result) =>
    result.status === 'fulfilled'
      ? 'done'
      : (result.reason as { details: { reason: string } }).details.reason,
  )

describe.each(clientKinds)('%s', (kind) => {
  beforeEach(async () => {
    scene = await Scene.open(server, { kind, budget: PATIENT_MS })
    await scene.warmUp()
  })

  test('hundreds of locks are had, renewed and given back in a few calls', async () => {
    const all = names(300)
    const got = await together(all, (name) => scene.hf.lock(name, { ttl: 3_000 }).acquire())
    expect(codes(got)).toEqual(all.map(() => 'done'))
    // One alone, and the rest in four, so that the server works on one while the reply to another is read.
    expect(scriptCalls()).toBe(5)
    const locks = got.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
    const fences = new Set(locks.map((held) => held.fence))
    expect(fences.size).toBe(300)
    scene.proxy.resetCounts()
    await waitFor(() => scriptCalls() >= 3, { what: 'renewals' })
    await waitFor(async () => (await scene.left('n299')) > 2_100, { what: 'a renewed lock' })
    for (const held of locks) held.assertHeld()
    scene.proxy.resetCounts()
    const released = await Promise.all(locks.map((held) => held.release()))
    expect(released).toEqual(all.map(() => ({ released: true, confirmed: true })))
    expect(scriptCalls()).toBeLessThanOrEqual(10)
    expect(await scene.keys()).toEqual([])
  })
})

describe('one that fails', () => {
  beforeEach(async () => {
    scene = await Scene.open(server, { budget: PATIENT_MS })
    await scene.warmUp()
  })

  const all = names(6)
  /** Done but for the fourth, which is not the one that goes ahead. */
  const only = (reason: string) => all.map((_, n) => (n === 3 ? reason : 'done'))
  const wrongType = async (key: string) => {
    await server.command('DEL', key)
    await server.command('RPUSH', key, 'a list')
  }
  const queue = (name: string) => `${scene.prefix}:{${name}}:queue`

  test('to be acquired, where a key of another type lies, fails alone, and says so', async () => {
    await wrongType(scene.key('n3'))
    const results = await together(all, (name) => scene.hf.lock(name).acquire())
    expect(codes(results)).toEqual(only('WRONGTYPE'))
    expect(scriptCalls()).toBe(2)
    const [refusal] = results.filter((result) => result.status === 'rejected')
    expect(refusal?.reason).toMatchObject({ code: 'STORE_REFUSED', outcome: 'not-done', retryable: false })
    expect((refusal?.reason as Error).message).toContain('Something else lies under the key')
    expect(await server.command('LRANGE', scene.key('n3'), 0, -1)).toEqual(['a list'])
  })

  test('to be released fails alone, and its key stays', async () => {
    const locks = await Promise.all(all.map((name) => scene.hf.lock(name).acquire()))
    await wrongType(scene.key('n3'))
    const results = await together(all, (name) => locks[all.indexOf(name)]?.release() ?? Promise.reject(name))
    expect(codes(results)).toEqual(only('WRONGTYPE'))
    expect(await scene.keys()).toEqual([scene.key('n3')])
  })

  test('to be extended fails alone', async () => {
    const locks = await Promise.all(all.map((name) => scene.hf.lock(name).acquire()))
    await wrongType(scene.key('n3'))
    const results = await together(
      all,
      (name) => locks[all.indexOf(name)]?.extend('1m') ?? Promise.reject(name),
    )
    expect(codes(results)).toEqual(only('WRONGTYPE'))
    for (const name of all) if (name !== 'n3') expect(await scene.left(name)).toBeGreaterThan(50_000)
  })

  test('to be inspected fails alone; a queue of another type does not hide the lock', async () => {
    await Promise.all(all.map((name) => scene.hf.lock(name).acquire()))
    await wrongType(scene.key('n3'))
    await wrongType(queue('n4'))
    const results = await together(all, (name) => scene.hf.inspect(name))
    expect(codes(results)).toEqual(only('WRONGTYPE'))
    expect(results[4]).toMatchObject({ value: { waiters: 0 } })
  })

  test('to be taken by force fails alone', async () => {
    await Promise.all(all.map((name) => scene.hf.lock(name).acquire()))
    const owners = await Promise.all(all.map((name) => scene.owner(name)))
    await wrongType(scene.key('n3'))
    const results = await together(all, (name) =>
      scene.hf.forceRelease(name, { owner: owners[all.indexOf(name)] ?? '' }),
    )
    expect(codes(results)).toEqual(only('WRONGTYPE'))
  })

  test('a queue of another type keeps nobody from having, waiting for and giving back the lock', async () => {
    const other = await scene.another()
    await Promise.all(all.map((name) => wrongType(queue(name))))
    const locks = await Promise.all(all.map((name) => other.lock(name, { ttl: '1m' }).acquire()))
    const waiting = together(all, (name) => scene.hf.lock(name).acquire())
    await Promise.all(locks.map((held) => held.release()))
    expect(codes(await waiting)).toEqual(all.map(() => 'done'))
  })

  test('outside the ACL fails alone', async () => {
    const allowed = all.filter((name) => name !== 'n3').flatMap((name) => [scene.key(name), queue(name)])
    const keys = [...allowed, `${scene.prefix}:fence`].map((key) => `~${key}`)
    await server.command('ACL', 'SETUSER', 'default', 'resetkeys', ...keys)
    const results = await together(all, (name) => scene.hf.lock(name).acquire())
    expect(codes(results)).toEqual(only('NOPERM'))
    expect((await scene.keys()).sort()).toEqual(
      all.filter((name) => name !== 'n3').map((name) => scene.key(name)),
    )
  })

  test.each(['nan', 'abc', '-5'])('a last fence that was set to %s by hand counts as none', async (text) => {
    await server.command('SET', `${scene.prefix}:fence`, text)
    const before = Date.now()
    const held = await scene.hf.lock('a').acquire()
    expect(Number(held.fence) / 1_000).toBeGreaterThanOrEqual(before - 1_000)
    expect(await held.release()).toEqual({ released: true, confirmed: true })
  })

  test('a last fence that leaves no room refuses every grant, since the next could not be written', async () => {
    await server.command('SET', `${scene.prefix}:fence`, String(2 ** 53 - 1))
    await expect(scene.hf.lock('free').tryAcquire()).rejects.toMatchObject({
      code: 'STORE_REFUSED',
      details: { reason: 'FENCELIMIT' },
    })
    expect(await scene.value('free')).toBeNull()
  })

  test('a last fence of another type refuses every grant by name, and nothing is left behind', async () => {
    const held = await scene.hf.lock('held').acquire()
    await wrongType(`${scene.prefix}:fence`)
    const results = await together([...all, 'held'], (name) => scene.hf.lock(name).tryAcquire())
    expect(codes(results)).toEqual([...all.map(() => 'WRONGTYPE'), 'done'])
    expect(await scene.keys()).toEqual([scene.key('held')])
    const forced = await together(['held'], (name) => scene.hf.forceRelease(name, { owner: held.owner }))
    expect(codes(forced)).toEqual(['WRONGTYPE'])
    expect(await scene.owner('held')).toBe(held.owner)
  })
})

describe('the same lock twice in one call', () => {
  beforeEach(async () => {
    scene = await Scene.open(server, { budget: PATIENT_MS })
    await scene.warmUp()
  })

  test('is granted once; the other is told who has it', async () => {
    const results = await together(['ahead', 'a', 'a', 'a', 'b'], (name) =>
      scene.hf.lock(name).tryRun(() => 'ran'),
    )
    expect(scriptCalls()).toBeLessThanOrEqual(4)
    const ofA = results.slice(1, 4).flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
    expect(ofA.filter(({ ran }) => ran)).toHaveLength(1)
    const others = ofA.filter(({ ran }) => !ran)
    expect(others).toHaveLength(2)
    for (const other of others) expect(other).toEqual({ ran: false, holder: expect.any(String) as string })
    expect(await scene.keys()).toEqual([])
  })

  test('a release and an acquire of one name in one turn: the release comes first', async () => {
    const held = await scene.hf.lock('a').acquire()
    const [released, next] = await Promise.all([
      held.release(),
      // Something is in flight, so both are gathered.
      scene.hf.lock('a').tryAcquire(),
    ])
    expect(released).toEqual({ released: true, confirmed: true })
    expect(next?.lost).toBeNull()
    expect(next?.fence).toBeGreaterThan(held.fence)
  })
})

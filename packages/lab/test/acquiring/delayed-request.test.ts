import type { Duration, Held } from 'holdfast'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { clientKinds } from '../../src/clients.ts'
import {
  sleep,
  startRedis,
  waitFor,
  type HeldRequest,
  type ProxiedCommand,
  type RedisServer,
} from '../../src/index.ts'
import { Scene } from '../support/scene.ts'
import { isAcquire, isRelease, isRenew } from '../support/scripts.ts'
import { SLACK_MS } from '../support/settling.ts'

/**
 * Goal: a request that arrives when its owner is long done does no harm: it leaves no key that nobody holds, shortens no
 * lease, and ends no other's.
 * Method: the proxy keeps a request and lets its connection die. The client, or the library, sends it again on the next
 * connection. Much later the proxy delivers the first copy, and shows what the server answered.
 */

const BUDGET = 800

let server: RedisServer
let scene: Scene

beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())
afterEach(() => scene.end())

/** A lock that was asked for twice; the first copy is still on its way. */
async function askedTwice(ttl: Duration = '30s'): Promise<{ held: Held; copy: HeldRequest }> {
  const copy = scene.proxy.holdRequest(isAcquire)
  const asked = scene.hf.lock('a', { ttl }).acquire()
  await copy.held
  copy.cutConnection()
  const held = await asked
  expect(await scene.value('a')).toBe(`${held.owner}#${held.fence}`)
  return { held, copy }
}

/** What a script answered for its only item: time, call, then the answer; a bare fence is the short form of a grant. */
async function deliver(copy: HeldRequest): Promise<unknown> {
  const [, , answer] = (await copy.deliver()) as [unknown, unknown, string | readonly unknown[]]
  return typeof answer === 'string' ? 'granted' : answer[0]
}

const gone = () =>
  waitFor(async () => (await scene.keys()).length === 0, {
    what: 'the key that nobody holds to go',
    within: BUDGET + SLACK_MS,
  })

describe.each(clientKinds)('%s', (kind) => {
  test('D17: an acquire arrives after its release, within the budget: its key goes', async () => {
    scene = await Scene.open(server, { kind, budget: BUDGET })
    await scene.warmUp()
    const { held, copy } = await askedTwice()
    expect(await held.release()).toEqual({ released: true, confirmed: true })
    expect(await scene.keys()).toEqual([])
    expect(await deliver(copy)).toBe('granted')
    await gone()
  })

  test('D17: an acquire arrives after its release, beyond the budget: the server refuses it', async () => {
    scene = await Scene.open(server, { kind, budget: BUDGET })
    await scene.warmUp()
    const { held, copy } = await askedTwice()
    expect(await held.release()).toEqual({ released: true, confirmed: true })
    await sleep(BUDGET + 300)
    expect(await deliver(copy)).toBe('late')
    expect(await scene.keys()).toEqual([])
  })

  test('D17: an acquire arrives after its caller had gone away: its key goes', async () => {
    scene = await Scene.open(server, { kind, budget: BUDGET })
    await scene.warmUp()
    const copy = scene.proxy.holdRequest(isAcquire)
    const controller = new AbortController()
    const asked = scene.hf.lock('a', { ttl: '30s' }).tryAcquire({ signal: controller.signal })
    await copy.held
    controller.abort(new Error('gone'))
    await expect(asked).rejects.toThrow('gone')
    copy.cutConnection()
    // The compensation comes first, on the next connection.
    await waitFor(
      () => scene.proxy.log.some(({ command: [name = '', ...args] }) => isRelease({ name, args })),
      {
        what: 'the compensation',
      },
    )
    expect(await deliver(copy)).toBe('granted')
    await gone()
  })

  test('D17: close() waits until no copy can arrive any more', async () => {
    scene = await Scene.open(server, { kind, budget: BUDGET })
    await scene.warmUp()
    const { held, copy } = await askedTwice()
    await held.release()
    const closed = scene.hf.close()
    expect(await deliver(copy)).toBe('granted')
    await closed
    expect(await scene.keys()).toEqual([])
  })

  test('fault 52: a renewal arrives after its owner has given the lock back: it makes no key', async () => {
    scene = await Scene.open(server, { kind, budget: BUDGET })
    await scene.warmUp()
    const held = await scene.hf.lock('a', { ttl: 900 }).acquire()
    const copy = scene.proxy.holdRequest(isRenew)
    await copy.held
    copy.cutConnection()
    expect(await held.release()).toMatchObject({ released: true })
    expect(await deliver(copy)).toBe('missing')
    expect(await scene.keys()).toEqual([])
  })

  test("fault 52: an owner's renewal and release arrive when another holds: his lease is untouched", async () => {
    scene = await Scene.open(server, { kind, budget: BUDGET })
    await scene.warmUp()
    const other = await scene.another()
    const held = await scene.hf.lock('a', { ttl: 900 }).acquire()
    const renewal = scene.proxy.holdRequest(isRenew)
    await renewal.held
    renewal.cutConnection()
    // What was released before is released once more over the new connection.
    const ofThisLock = ({ name, args }: ProxiedCommand) =>
      isRelease({ name, args }) && args.includes(scene.key('a'))
    const release = scene.proxy.holdRequest(ofThisLock)
    const released = held.release()
    await release.held
    release.cutConnection()
    expect(await released).toMatchObject({ released: true })
    const theirs = await other.lock('a', { ttl: '1m', renew: false }).acquire()
    expect(await deliver(renewal)).toBe('other')
    expect(await deliver(release)).toBe('other')
    expect(await scene.value('a')).toBe(`${theirs.owner}#${theirs.fence}`)
    expect(await scene.left('a')).toBeGreaterThan(50_000)
  })
})

test('D17: an acquire arrives after its lock was taken by force: its key goes', async () => {
  scene = await Scene.open(server, { budget: 5_000 })
  await scene.warmUp()
  const operator = await scene.another()
  const { held, copy } = await askedTwice()
  await scene.untilListening(held)
  expect(await operator.forceRelease('a')).toMatchObject({ released: true })
  await waitFor(() => held.lost === 'forced', { what: 'the holder to be told' })
  expect(await deliver(copy)).toBe('granted')
  await waitFor(async () => (await scene.keys()).length === 0, { what: 'the key that nobody holds to go' })
})

test('fault 31: an extension that arrives beyond its budget is refused', async () => {
  scene = await Scene.open(server, { budget: BUDGET })
  await scene.warmUp()
  const held = await scene.hf.lock('a', { ttl: '1m', renew: false }).acquire()
  const copy = scene.proxy.holdRequest(isRenew)
  const extended = held.extend('2m')
  await copy.held
  copy.cutConnection()
  await extended
  expect(await scene.left('a')).toBeGreaterThan(100_000)
  await sleep(BUDGET + 300)
  expect(await deliver(copy)).toBe('late')
})

test('an acquire that arrives again never shortens its lease: what is left, or the ttl if that is more', async () => {
  scene = await Scene.open(server, { budget: 2_000 })
  await scene.warmUp()
  const { held, copy } = await askedTwice(1_000)
  await held.extend('1m')
  expect(await deliver(copy)).toBe('mine')
  expect(await scene.left('a')).toBeGreaterThan(50_000)
  expect(held.remaining()).toBeGreaterThan(50_000)
  expect(await scene.value('a')).toBe(`${held.owner}#${held.fence}`)
})

test('a compensation that arrives late does not hit the next grant of the same process', async () => {
  scene = await Scene.open(server, { budget: 2_000 })
  await scene.warmUp()
  const compensation = scene.proxy.holdRequest(isRelease)
  scene.proxy.delayReplyOf(isAcquire, 200)
  const controller = new AbortController()
  const first = scene.hf.lock('a').tryAcquire({ signal: controller.signal })
  await waitFor(async () => (await scene.value('a')) !== null, { what: 'the grant', every: 1 })
  const firstOwner = await scene.owner('a')
  controller.abort(new Error('gone'))
  await expect(first).rejects.toThrow('gone')
  await compensation.held
  compensation.cutConnection()
  // The client sends the compensation again; then the lock is free.
  const second = await scene.hf.lock('a').acquire()
  expect(second.owner).not.toBe(firstOwner)
  expect(await deliver(compensation)).toBe('other')
  expect(await scene.value('a')).toBe(`${second.owner}#${second.fence}`)
  expect(await second.release()).toEqual({ released: true, confirmed: true })
})

import { StoreUnavailableError } from 'holdfast'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { clientKinds, sendsAgain } from '../../src/clients.ts'
import { startRedis, waitFor, type RedisServer } from '../../src/index.ts'
import { Scene } from '../support/scene.ts'
import { isAcquire, isRelease, ownerIn } from '../support/scripts.ts'
import { settle } from '../support/settling.ts'

/**
 * Goal: a grant whose answer was lost is still ours. Nobody is told "busy" about a key of his own, and none is left behind.
 * Method: the proxy lets the server do what was asked, discards its answer and resets the connection. node-redis rejects
 * then and the library asks again; ioredis sends the command again by itself.
 */

let server: RedisServer
let scene: Scene

beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())
afterEach(() => scene.end())

describe.each(clientKinds)('%s', (kind) => {
  /** Owners of all acquires that were sent. */
  const ownersAsked = () =>
    new Set(
      scene.proxy.log
        .map(({ command: [name = '', ...args] }) => ({ name, args }))
        .filter(isAcquire)
        .map(ownerIn),
    )

  test('A2: the reply is lost once: got at the next try, with one key, one fence and one owner', async () => {
    scene = await Scene.open(server, { kind })
    await scene.warmUp()
    const lost = scene.proxy.loseReplyOf(isAcquire)
    const held = await scene.hf.lock('a', { ttl: '30s' }).acquire()
    expect(lost.count).toBe(1)
    expect(held.lost).toBeNull()
    expect(await scene.value('a')).toBe(`${held.owner}#${held.fence}`)
    expect(await scene.lastFence()).toBe(held.fence)
    expect(await scene.keys()).toEqual([scene.key('a')])
    expect(ownersAsked()).toEqual(new Set([held.owner]))
    expect(await held.release()).toEqual({ released: true, confirmed: true })
    expect(await scene.keys()).toEqual([])
  })

  test('A3: tryAcquire whose reply is lost is not "busy" about its own key', async () => {
    scene = await Scene.open(server, { kind })
    await scene.warmUp()
    for (let round = 0; round < 10; round += 1) {
      scene.proxy.resetCounts()
      const lost = scene.proxy.loseReplyOf(isAcquire)
      const held = await scene.hf.lock('a').tryAcquire()
      expect(lost.count).toBe(1)
      expect(held?.lost, 'a lock that nobody else wants').toBeNull()
      expect(await scene.lastFence()).toBe(held?.fence)
      expect(ownersAsked()).toEqual(new Set([held?.owner]))
      expect(await held?.release()).toEqual({ released: true, confirmed: true })
      expect(await scene.keys()).toEqual([])
    }
  })

  test('A3: another holds it and the reply is lost: busy, with the true holder, and nothing of ours', async () => {
    scene = await Scene.open(server, { kind })
    await scene.warmUp()
    const theirs = await (await scene.another()).lock('a').acquire()
    const lost = scene.proxy.loseReplyOf(isAcquire)
    expect(await scene.hf.lock('a').tryRun(() => {})).toEqual({ ran: false, holder: theirs.owner })
    expect(lost.count).toBe(1)
    expect(await scene.owner('a')).toBe(theirs.owner)
  })

  test('A3: every reply is lost: tryAcquire rejects as unknown, and its key goes', async () => {
    scene = await Scene.open(server, { kind, budget: 600 })
    await scene.warmUp()
    const lost = scene.proxy.loseReplyOf(isAcquire, { times: Infinity })
    const { error } = await settle(scene.hf.lock('a', { ttl: '30s' }).tryAcquire())
    expect(error).toBeInstanceOf(StoreUnavailableError)
    expect(error).toMatchObject({ outcome: 'unknown', retryable: true })
    expect(lost.count).toBeGreaterThan(0)
    await waitFor(async () => (await scene.value('a')) === null, { what: 'our key to be cleared away' })
  })

  test('A3: the key of an earlier call that nobody could clear away yet is no obstacle', async () => {
    scene = await Scene.open(server, { kind, budget: 600 })
    await scene.warmUp()
    const lost = scene.proxy.loseReplyOf(isAcquire, { times: Infinity })
    const blocked = scene.proxy.resetBefore(isRelease, { times: Infinity })
    const { error } = await settle(scene.hf.lock('a', { ttl: '30s' }).tryAcquire())
    expect(error).toBeInstanceOf(StoreUnavailableError)
    const abandoned = await scene.owner('a')
    expect(abandoned).not.toBeNull()
    lost.cancel()
    blocked.cancel()
    const held = await scene.hf.lock('a').tryAcquire()
    expect(held?.lost, 'not busy').toBeNull()
    expect(held?.owner).not.toBe(abandoned)
    expect(await scene.owner('a')).toBe(held?.owner)
  })

  test('A3: a key of an owner of this process that nobody holds any more is no obstacle', async () => {
    scene = await Scene.open(server, { kind })
    await scene.warmUp()
    const past = await scene.hf.lock('a').acquire()
    await past.release()
    // As if a copy of its acquire had come through all that keeps it out.
    await server.command('SET', scene.key('a'), `${past.owner}#${past.fence}`, 'PX', 30_000)
    const held = await scene.hf.lock('a').tryAcquire()
    expect(held?.lost, 'not busy').toBeNull()
    expect(await scene.owner('a')).toBe(held?.owner)
  })

  test.runIf(sendsAgain(kind))('A3: the client itself sends it again', async () => {
    // A budget with which the library would not ask again for a long time.
    scene = await Scene.open(server, { kind, budget: 9_000 })
    await scene.warmUp()
    const held = await scene.hf.lock('a', { ttl: '30s' }).acquire()
    const lost = scene.proxy.loseReplyOf(isRelease)
    expect(await held.release()).toEqual({ released: true, confirmed: false })
    expect(lost.count).toBe(1)
    // The warm-up's release goes over the new connection, too: it may have been lost with the old one.
    const ours = scene.proxy.log.filter(({ command }) => command.includes(scene.key('a')))
    expect(ours).toHaveLength(3)
  })
})

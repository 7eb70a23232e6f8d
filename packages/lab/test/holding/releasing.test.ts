import { listen, type HoldfastEvents } from 'holdfast'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { clientKinds, sendsAgain } from '../../src/clients.ts'
import { sleep, startRedis, waitFor, type RedisServer } from '../../src/index.ts'
import { Scene } from '../support/scene.ts'
import { isRelease, isRenew } from '../support/scripts.ts'
import { settle, SLACK_MS } from '../support/settling.ts'

/**
 * Goal: giving a lock back stops everything that is done for it, says the truth about it, and may be repeated.
 * Method: a real server behind a proxy that loses what is asked or what is answered.
 */

let server: RedisServer
let scene: Scene

beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())
afterEach(() => scene.end())

/** Commands of one script that a client sent since the counts were reset. */
const sent = (is: typeof isRelease): number =>
  scene.proxy.log.filter(({ command: [name = '', ...args] }) => is({ name, args })).length

describe.each(clientKinds)('%s', (kind) => {
  test('C2: the release times out: renewal stops at once, the key goes within the ttl, the caller is told why', async () => {
    scene = await Scene.open(server, { kind })
    await scene.warmUp()
    const ttl = 1_200
    const held = await scene.hf.lock('a', { ttl }).acquire()
    await waitFor(() => sent(isRenew) > 0, { what: 'a renewal' })
    // What is sent from now on is lost on the way, and the client hears of nothing.
    scene.proxy.toServer.drop()
    scene.proxy.resetCounts()
    const began = performance.now()
    const { error, ms } = await settle(held.release())
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', outcome: 'unknown', retryable: true })
    expect(error?.message).toMatch(/Releasing the lock "a" failed: .*It may have been done all the same/)
    expect(ms).toBeLessThan(1_000 + SLACK_MS)
    await waitFor(async () => (await scene.value('a')) === null, { what: 'the key to be gone', within: ttl })
    expect(performance.now() - began).toBeLessThan(ttl + SLACK_MS)
    await sleep(ttl / 2)
    expect(sent(isRenew)).toBe(0)
  })

  test('D11: the release never reached the server: a second one works', async () => {
    scene = await Scene.open(server, { kind, budget: 500 })
    await scene.warmUp()
    const held = await scene.hf.lock('a').acquire()
    const cut = scene.proxy.resetBefore(isRelease, { times: Infinity })
    const { error } = await settle(held.release())
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(await scene.owner('a')).toBe(held.owner)
    cut.cancel()
    const again = await held.release()
    expect(again.released).toBe(true)
    // ioredis may send the first one again by itself, and be quicker.
    if (!sendsAgain(kind)) expect(again).toEqual({ released: true, confirmed: true })
    expect(await scene.keys()).toEqual([])
  })

  test('what a server has again that lost its last writes is released again, and nothing else', async () => {
    scene = await Scene.open(server, { kind })
    await scene.warmUp()
    const lock = scene.hf.lock('a', { ttl: '30s' })
    const first = await lock.acquire()
    const value = await scene.value('a')
    await first.release()
    const other = await scene.hf.lock('b').acquire()
    // As a replica has it that took over, and had not got the release; nobody can tell that it is the same server.
    await server.command('SET', scene.key('a'), String(value), 'PX', 30_000)
    await server.command('ACL', 'SETUSER', 'default', '-info')
    try {
      await server.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
      await waitFor(async () => (await scene.value('a')) === null, {
        what: 'the lock to be released again',
      })
    } finally {
      await server.command('ACL', 'SETUSER', 'default', '+info')
    }
    expect([await scene.owner('b'), other.lost]).toEqual([other.owner, null])
    expect([first.owner, await other.release()]).toEqual([
      expect.any(String),
      { released: true, confirmed: true },
    ])
  })

  test('D11: the reply is lost once: the call itself finds out that it is released', async () => {
    const foreign: unknown[] = []
    const stop = listen('holdfast:lock:foreign-release', (event) => foreign.push(event))
    scene = await Scene.open(server, { kind })
    await scene.warmUp()
    const held = await scene.hf.lock('a').acquire()
    const lost = scene.proxy.loseReplyOf(isRelease)
    expect(await held.release()).toEqual({ released: true, confirmed: false })
    expect([lost.count, held.lost, foreign]).toEqual([1, null, []])
    expect(await scene.keys()).toEqual([])
    stop()
  })

  test('D11: every reply is lost: it rejects, and the second call says released', async () => {
    scene = await Scene.open(server, { kind, budget: 500 })
    await scene.warmUp()
    const held = await scene.hf.lock('a').acquire()
    const lost = scene.proxy.loseReplyOf(isRelease, { times: Infinity })
    expect((await settle(held.release())).error).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      outcome: 'unknown',
    })
    expect(await scene.value('a')).toBeNull()
    lost.cancel()
    expect(await held.release()).toEqual({ released: true, confirmed: false })
  })

  test('D11: every reply is lost and another holds it by now: released all the same, and theirs is left alone', async () => {
    scene = await Scene.open(server, { kind, budget: 500 })
    await scene.warmUp()
    const held = await scene.hf.lock('a').acquire()
    const lost = scene.proxy.loseReplyOf(isRelease, { times: Infinity })
    await settle(held.release())
    const theirs = await (await scene.another()).lock('a').acquire()
    lost.cancel()
    expect(await held.release()).toEqual({ released: true, confirmed: false })
    expect(await scene.owner('a')).toBe(theirs.owner)
    expect(theirs.lost).toBeNull()
  })

  test('D11: a stale release after a newer acquire of the same process does nothing', async () => {
    scene = await Scene.open(server, { kind, budget: 500 })
    await scene.warmUp()
    const held = await scene.hf.lock('a').acquire()
    const cut = scene.proxy.resetBefore(isRelease, { times: Infinity })
    await settle(held.release())
    cut.cancel()
    const newer = await scene.hf.lock('a').acquire()
    expect(newer.owner).not.toBe(held.owner)
    expect(await held.release()).toEqual({ released: true, confirmed: false })
    await sleep(200)
    expect(await scene.owner('a')).toBe(newer.owner)
    newer.assertHeld()
    expect(await newer.release()).toEqual({ released: true, confirmed: true })
  })
})

describe('D9: release after expiry', () => {
  test('answers expired after one round trip at most; nothing is tried again, nothing thrown', async () => {
    scene = await Scene.open(server)
    await scene.warmUp()
    const held = await scene.hf.lock('a', { ttl: 200, renew: false }).acquire()
    await waitFor(async () => (await scene.value('a')) === null, { what: 'the key to expire' })
    scene.proxy.resetCounts()
    const { value, ms } = await settle(held.release())
    expect(value).toEqual({ released: false, reason: 'expired' })
    expect(ms).toBeLessThan(100)
    await sleep(1_500)
    expect(scene.proxy.commands.total).toBeLessThanOrEqual(1)
    expect(await held.release()).toEqual({ released: false, reason: 'expired' })
  })

  test('also when the server is frozen: at once, and without a throw', async () => {
    scene = await Scene.open(server)
    await scene.warmUp()
    const held = await scene.hf.lock('a', { ttl: 200, renew: false }).acquire()
    await server.pause()
    await waitFor(() => held.lost !== null, { what: 'the deadline' })
    const { value, ms } = await settle(held.release())
    expect(value).toEqual({ released: false, reason: 'expired' })
    expect(ms).toBeLessThan(100)
  })

  test('leaves the next holder alone', async () => {
    scene = await Scene.open(server)
    const held = await scene.hf.lock('a', { ttl: 200, renew: false }).acquire()
    const next = await (await scene.another()).lock('a', { wait: '5s' }).acquire()
    await waitFor(() => held.lost !== null, { what: 'the deadline' })
    expect(await held.release()).toEqual({ released: false, reason: 'expired' })
    await sleep(300)
    expect(await scene.owner('a')).toBe(next.owner)
  })
})

describe('D10: run, on a real server', () => {
  test('the work throws and the release fails: its own error, with ours unseen at it, and the event', async () => {
    const failed: HoldfastEvents['holdfast:lock:release-failed'][] = []
    const stop = listen('holdfast:lock:release-failed', (event) => failed.push(event))
    scene = await Scene.open(server, { budget: 300 })
    await scene.warmUp()
    const mine = new Error('mine')
    const running = scene.hf.lock('a').run(() => {
      scene.proxy.toServer.drop()
      throw mine
    })
    const { error } = await settle(running)
    expect(error).toBe(mine)
    expect((error as unknown as { holdfast: unknown }).holdfast).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(Object.keys(mine)).toEqual([])
    expect(failed).toMatchObject([{ lock: 'a' }])
    stop()
  })

  test('the work returned and the lock had been lost: the caller learns both', async () => {
    scene = await Scene.open(server)
    const running = scene.hf.lock('a').run(async () => {
      await server.command('DEL', scene.key('a'))
      return { charged: 3 }
    })
    expect((await settle(running)).error).toMatchObject({
      code: 'LOCK_LOST',
      reason: 'missing',
      work: { value: { charged: 3 } },
    })
  })
})

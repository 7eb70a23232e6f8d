import { fixedWindow } from 'holdfast'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { clientKinds } from '../../src/clients.ts'
import {
  sleep,
  startCluster,
  startProxy,
  waitFor,
  type RedisCluster,
  type RedisServer,
  type TcpProxy,
} from '../../src/index.ts'
import { isAcquire, isRelease } from '../support/scripts.ts'
import { ClusterScene } from './scene.ts'

/**
 * Goal: lost, late and misdirected calls on a cluster end as on one server: nothing is left, nothing counts twice, and what was
 * given up is not sent to another node. And nodes are reached where the client was told that they are.
 * Method: a proxy before each node, which the client knows by its table of addresses.
 */

let cluster: RedisCluster
const proxies = new Map<RedisServer, TcpProxy>()

beforeAll(async () => {
  cluster = await startCluster({ replicas: 0 })
  for (const node of cluster.nodes) proxies.set(node, await startProxy({ target: node, record: true }))
})
afterAll(async () => {
  for (const proxy of proxies.values()) await proxy.close()
  await cluster.stop()
})

const proxyOf = (node: RedisServer): TcpProxy => proxies.get(node) as TcpProxy

/** How many acquires arrived at the proxies. */
const acquires = (): number =>
  [...proxies.values()]
    .flatMap(({ log }) => log)
    .map(({ command: [name = '', ...args] }) => ({ name: name.toUpperCase(), args }))
    .filter(isAcquire).length

describe.each(clientKinds)('over %s', (kind) => {
  let scene: ClusterScene
  beforeEach(() => {
    scene = new ClusterScene(cluster, kind, proxies)
  })
  afterEach(async () => {
    for (const proxy of proxies.values()) await proxy.heal()
    await scene.end()
  })

  test('A2: the reply to an acquire is lost: the same owner, one key, one fence', async () => {
    const hf = await scene.holdfast({ budget: '3s' })
    await hf.lock('a').run(() => 1)
    const { owner } = await scene.place('a')
    const lost = proxyOf(owner).loseReplyOf(isAcquire)
    const held = await hf.lock('a').acquire()
    expect(lost.count).toBe(1)
    expect(await scene.value('a')).toBe(`${held.owner}#${held.fence}`)
    expect(await cluster.command(scene.key('a'), 'GET', `${scene.prefix}:{a}:fence`)).toBe(String(held.fence))
    expect(await held.release()).toEqual({ released: true, confirmed: true })
    await waitFor(async () => (await scene.value('a')) === null, { what: 'the key to go' })
  })

  test('D11: the reply to a release is lost: the second try says released', async () => {
    const hf = await scene.holdfast({ budget: '3s' })
    const held = await hf.lock('a').acquire()
    const { owner } = await scene.place('a')
    const lost = proxyOf(owner).loseReplyOf(isRelease)
    expect(await held.release()).toMatchObject({ released: true })
    expect(lost.count).toBe(1)
    expect(await scene.value('a')).toBeNull()
  })

  test('E22: the reply to a take is lost: counted once', async () => {
    const hf = await scene.holdfast()
    const limiter = hf.limiter('l', fixedWindow({ limit: 10, per: '1h' }), { budget: '3s' })
    await limiter.take('u')
    const slot = await cluster.slotOf(`${scene.prefix}:{l|u}:limit`)
    const lost = proxyOf(await cluster.ownerOf(slot)).loseReplyOf('EVALSHA')
    expect((await limiter.take('u')).remaining).toBe(8)
    expect(lost.count).toBe(1)
    expect((await limiter.take('u')).remaining).toBe(7)
  })

  test('given up before the node says MOVED: it is not sent to the other one', async () => {
    const hf = await scene.holdfast({ budget: '3s' })
    await hf.lock('m').run(() => 1)
    const { slot, owner, other } = await scene.place('m')
    // So that the other node knows the scripts, and we its time.
    for (let i = 0; i < 20; i += 1) await hf.lock(`warm-${i}`).run(() => 1)
    await cluster.moveSlot(slot, other)
    for (const proxy of proxies.values()) proxy.resetCounts()
    const late = proxyOf(owner).delayReplyOf(isAcquire, 500)
    const controller = new AbortController()
    const asked = hf.lock('m').acquire({ signal: controller.signal })
    const rejected = expect(asked).rejects.toThrow('enough')
    await waitFor(() => late.count === 1, { what: 'the acquire to be sent' })
    controller.abort(new Error('enough'))
    await rejected
    await sleep(900)
    expect(acquires()).toBe(1)
    expect(await scene.value('m')).toBeNull()
    await cluster.moveSlot(slot, owner)
  })

  test('every connection breaks while forty locks are held and asked for: all is well afterwards', async () => {
    const hf = await scene.holdfast({ budget: '3s' })
    const names = Array.from({ length: 40 }, (_, i) => `n${i}`)
    const held = await Promise.all(names.map((name) => hf.lock(name, { ttl: '10s' }).acquire()))
    for (const proxy of proxies.values()) proxy.resetAll()
    await Promise.all(held.map((hold) => hold.extend('20s')))
    for (const proxy of proxies.values()) proxy.resetAll()
    const outcomes = await Promise.all(held.map((hold) => hold.release()))
    expect(outcomes.every(({ released }) => released)).toBe(true)
    for (const proxy of proxies.values()) proxy.resetAll()
    expect(await Promise.all(names.map((name) => hf.lock(name).run(() => name)))).toEqual(names)
  })

  test('INV-H1: a node is silent: its names fail within the budget, the others go on', async () => {
    const hf = await scene.holdfast({ budget: 600 })
    const silent = await scene.place('s')
    let other = 's'
    for (let i = 0; other === 's'; i += 1)
      if ((await scene.place(`o${i}`)).owner !== silent.owner) other = `o${i}`
    await hf.lock('s').run(() => 1)
    await hf.lock(other).run(() => 1)
    await silent.owner.pause()
    try {
      const begun = performance.now()
      const failed = await Promise.all([
        hf
          .lock('s')
          .tryAcquire()
          .catch((error: { code: string }) => error.code),
        hf.lock(other).run(() => 'ran'),
      ])
      expect(failed).toEqual(['STORE_UNAVAILABLE', 'ran'])
      expect(performance.now() - begun).toBeLessThan(600 + 1_000)
    } finally {
      silent.owner.resume()
    }
    expect(await hf.lock('s', { wait: '10s' }).run(() => 'ran')).toBe('ran')
  })
})

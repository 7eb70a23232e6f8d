import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { clientKinds } from '../../src/clients.ts'
import {
  sleep,
  spawnWorker,
  startProxy,
  startRedis,
  type RedisServer,
  type TcpProxy,
} from '../../src/index.ts'
import type { Worker } from '../../src/index.ts'
import { CountingClock } from '../support/counting-clock.ts'
import { Scene } from '../support/scene.ts'

/**
 * Goal: after `close()`, by hand or by a signal, nothing of an instance is left: no lock, no timer, no command on its way;
 * and the process ends as it would have.
 * Method: fifty locks in a process of its own behind a proxy that counts; the server is looked at past the proxy.
 */

const HOLDER = new URL('../../src/workers/holder.ts', import.meta.url)
const PREFIX = 'closing:v1'
const MANY = 50

let server: RedisServer

beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())

/** What was sent a moment ago reaches the proxy, which may run late on a shared machine. */
const onItsWay = () => sleep(50)

describe('C12: SIGTERM with closeOn', () => {
  let proxy: TcpProxy
  let worker: Worker

  afterEach(async () => {
    server.resume()
    await worker.kill()
    await proxy.close()
    await server.command('FLUSHALL')
  })

  /** A process that holds fifty locks. */
  async function holder(closeOn: NodeJS.Signals[] = ['SIGTERM']): Promise<void> {
    proxy = await startProxy({ target: server, record: true })
    worker = await spawnWorker(HOLDER)
    await worker.call('open', { redis: proxy.url }, { prefix: PREFIX, closeOn })
    await worker.call('acquireMany', MANY, { ttl: 1_500 })
    // They renew and listen by then.
    await sleep(700)
  }

  const held = async (): Promise<number> =>
    ((await server.command('KEYS', `${PREFIX}:*:lock`)) as string[]).length

  test('gives all of them back, ends by SIGTERM, and sends nothing afterwards', async () => {
    await holder()
    expect(await held()).toBe(MANY)
    worker.signal('SIGTERM')
    expect(await worker.exitedWithin(5_000)).toEqual({ code: null, signal: 'SIGTERM' })
    expect(await held()).toBe(0)
    await onItsWay()
    const sent = proxy.log.length
    await sleep(300)
    expect(proxy.log.slice(sent)).toEqual([])
    expect([proxy.connections.length, worker.stderr]).toEqual([0, ''])
  })

  test('without closeOn the process ends at once, and the locks by their expiry', async () => {
    await holder([])
    worker.signal('SIGTERM')
    expect(await worker.exitedWithin(5_000)).toEqual({ code: null, signal: 'SIGTERM' })
    expect(await held()).toBe(MANY)
  })

  test('with a frozen server it ends by SIGTERM all the same, within two budgets', async () => {
    await holder()
    await server.pause()
    const began = performance.now()
    worker.signal('SIGTERM')
    expect(await worker.exitedWithin(10_000)).toEqual({ code: null, signal: 'SIGTERM' })
    expect(performance.now() - began).toBeLessThan(2_000 + 1_000)
  })

  test('a second SIGTERM while it closes does not cut it short', async () => {
    await holder()
    proxy.toServer.hold()
    worker.signal('SIGTERM')
    await sleep(100)
    worker.signal('SIGTERM')
    await sleep(100)
    expect(worker.running).toBe(true)
    proxy.toServer.pass()
    expect(await worker.exitedWithin(5_000)).toEqual({ code: null, signal: 'SIGTERM' })
    expect(await held()).toBe(0)
  })

  test('a process with a shutdown of its own, also one that listens once, ends by that, with its own status', async () => {
    await holder()
    await worker.call('exitsByItself', 'SIGTERM', 7, 500)
    worker.signal('SIGTERM')
    expect(await worker.exitedWithin(5_000)).toEqual({ code: 7, signal: null })
    expect(await held()).toBe(0)
  })

  test('close({ release: false }) leaves the locks to their expiry, and renews them no more', async () => {
    await holder([])
    await worker.call('close', { release: false })
    expect(await held()).toBe(MANY)
    await onItsWay()
    const sent = proxy.log.length
    await sleep(1_500)
    expect([await held(), proxy.log.slice(sent)]).toEqual([0, []])
  })
})

describe.each(clientKinds)('C12: close() with %s', (kind) => {
  afterEach(() => server.resume())

  test('leaves no timer, no connection of ours, no listener on the client, no later command', async () => {
    const clock = new CountingClock()
    const scene = await Scene.open(server, { kind, clock })
    const client = scene.client.client as unknown as NodeJS.EventEmitter
    const names = Array.from({ length: MANY }, (_, i) => `lock ${i}`)
    const holds = await Promise.all(names.map((name) => scene.hf.lock(name, { ttl: 900 }).acquire()))
    const waiting = scene.hf.lock('lock 0', { wait: '1m' }).acquire()
    const refused = expect(waiting).rejects.toMatchObject({ code: 'CLOSED' })
    await sleep(700)
    expect(holds.every(({ lost }) => lost === null)).toBe(true)
    const listeners = client.eventNames().reduce((sum, name) => sum + client.listenerCount(name), 0)
    await scene.hf.close()
    await refused
    expect(clock.pendingTimers).toBe(0)
    expect(await scene.keys()).toEqual([])
    expect(client.eventNames().reduce((sum, name) => sum + client.listenerCount(name), 0)).toBeLessThan(
      listeners,
    )
    await onItsWay()
    const sent = scene.proxy.log.length
    await sleep(900)
    expect(scene.proxy.log.slice(sent)).toEqual([])
    expect(scene.proxy.connections.map(({ subscribed }) => subscribed)).toEqual([false])
    // The client is the caller's, and goes on.
    expect(await scene.client.send('PING')).toBe('PONG')
    await scene.end()
  })

  test('on a frozen server settles within two budgets, and sends nothing when the server is back', async () => {
    const clock = new CountingClock()
    const scene = await Scene.open(server, { kind, clock, budget: 400 })
    await Promise.all([1, 2, 3].map((i) => scene.hf.lock(`lock ${i}`, { ttl: '30s' }).acquire()))
    await server.pause()
    const began = performance.now()
    await scene.hf.close()
    expect(performance.now() - began).toBeLessThan(2 * 400 + 1_000)
    expect(clock.pendingTimers).toBe(0)
    await onItsWay()
    const sent = scene.proxy.log.length
    server.resume()
    await sleep(1_200)
    expect(scene.proxy.log.slice(sent)).toEqual([])
    await scene.end()
  })
})

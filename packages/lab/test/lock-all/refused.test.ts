import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createHoldfast, type Holdfast, type Store } from 'holdfast'
import { memoryStore } from 'holdfast/memory'
import { redisStore } from 'holdfast/redis'
import { clientFamilies, connectCluster } from '../../src/clients.ts'
import { startCluster, startRedis, waitFor, type RedisCluster, type RedisServer } from '../../src/index.ts'
import { Scene } from '../support/scene.ts'

/**
 * Goal: where one of several names cannot be had because the server refuses it, none of the others is held when the caller is told:
 * neither for others who ask next, nor in the store.
 * Method: something that is no lock lies at one of the keys, or the user may not write it; the keys are read as soon as the call ended.
 */

const LIST = ['a', 'b', 'c', 'd']

describe('on one server', () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await startRedis()
  })
  afterAll(() => server.stop())

  describe.each(clientFamilies)('over %s', (kind) => {
    let scene: Scene
    afterEach(() => scene.end())

    test.each(LIST)('a list lies at %s: no other name was ever held', async (wrong) => {
      scene = await Scene.open(server, { kind })
      await scene.warmUp()
      await server.command('LPUSH', scene.key(wrong), 'x')
      for (const attempt of ['tryAcquire', 'acquire'] as const) {
        const locks = scene.hf.lockAll(LIST, { wait: 50 })
        const outcome: unknown = await locks[attempt]().catch((error: unknown) => error)
        expect(outcome).toMatchObject({ code: 'STORE_REFUSED' })
        expect(String(outcome)).toContain(scene.key(wrong))
        expect(await scene.keys()).toEqual([scene.key(wrong)])
      }
      await server.command('DEL', scene.key(wrong))
      const held = await scene.hf.lockAll(LIST).tryAcquire()
      expect(held).not.toBeNull()
      await held?.release()
    })
  })

  test('nobody is told of it: not one key of them is there between two commands of another', async () => {
    const scene = await Scene.open(server, { kind: 'ioredis' })
    await scene.warmUp()
    await server.command('LPUSH', scene.key('d'), 'x')
    const before = scene.proxy.commands.byName.EVALSHA ?? 0
    await expect(scene.hf.lockAll(LIST).tryAcquire()).rejects.toMatchObject({ code: 'STORE_REFUSED' })
    // One call: nothing had to be given back.
    expect((scene.proxy.commands.byName.EVALSHA ?? 0) - before).toBe(1)
    await server.command('DEL', scene.key('d'))
    await scene.end()
  })
})

describe('on a cluster, where they are taken one after another', () => {
  let cluster: RedisCluster
  let hf: Holdfast
  let end: () => unknown
  beforeAll(async () => {
    cluster = await startCluster({ replicas: 0 })
    const client = await connectCluster('ioredis', cluster.addresses)
    end = () => client.close()
    hf = createHoldfast({ store: redisStore(client.client), prefix: 'refused:v1' })
  })
  afterAll(async () => {
    await hf.close()
    await end()
    await cluster.stop()
  })

  test('what was had is given back when the caller is told', async () => {
    const other = await connectCluster('ioredis', cluster.addresses)
    const { client } = other as unknown as { client: { lpush(key: string, value: string): Promise<unknown> } }
    await client.lpush('refused:v1:{c}:lock', 'x')
    const third = createHoldfast({ store: redisStore(other.client), prefix: 'refused:v1' })
    for (let i = 0; i < 20; i += 1) {
      await expect(hf.lockAll(['a', 'b', 'c']).acquire({ wait: 50 })).rejects.toMatchObject({
        code: 'STORE_REFUSED',
      })
      const infos = await Promise.all(['a', 'b'].map((name) => third.inspect(name)))
      expect(infos).toEqual([null, null])
    }
    await third.close()
    other.close()
  })

  test('so it is when one of them is busy', async () => {
    const other = await connectCluster('ioredis', cluster.addresses)
    const third = createHoldfast({ store: redisStore(other.client), prefix: 'refused:v1' })
    const holder = await third.lock('y').acquire()
    for (let i = 0; i < 20; i += 1) {
      expect(await hf.lockAll(['w', 'x', 'y']).tryAcquire()).toBeNull()
      const infos = await Promise.all(['w', 'x'].map((name) => third.inspect(name)))
      expect(infos).toEqual([null, null])
    }
    await holder.release()
    await third.close()
    other.close()
  })
})

describe('one after another', () => {
  type Locks = ReturnType<Store['open']>['locks']

  /** In memory; a release is answered only when the test says so. `spoil` changes the rest. */
  const gated = (
    spoil: (locks: Locks) => void = () => undefined,
  ): { store: Store; open: () => void; asked: number } => {
    const inner = memoryStore()
    let openGate: () => void = () => undefined
    const gate = new Promise<void>((resolve) => (openGate = resolve))
    const made = {
      asked: 0,
      open: () => openGate(),
      store: {
        kind: 'gated',
        traits: inner.traits,
        open: (context: Parameters<Store['open']>[0]) => {
          const opened = inner.open(context)
          const { locks } = opened
          const release: Locks['release'] = locks.release.bind(locks)
          locks.release = async (ask, attempt) => {
            made.asked += 1
            await gate
            return release(ask, attempt)
          }
          spoil(locks)
          return opened
        },
      },
    }
    return made
  }

  test('one is refused: what was had is given back before the caller is told', async () => {
    const made = gated((locks) => {
      const acquire: Locks['acquire'] = locks.acquire.bind(locks)
      locks.acquire = async (ask, attempt) => {
        if (ask.address.key.includes('{c}')) throw Object.assign(new Error('WRONGTYPE'), { code: 'X' })
        return acquire(ask, attempt)
      }
    })
    const hf = createHoldfast({ store: made.store, budget: '5s' })
    let told = false
    const ended = hf
      .lockAll(['a', 'b', 'c'])
      .acquire({ wait: 0 })
      .catch((error: unknown) => error)
      .finally(() => (told = true))
    await waitFor(() => made.asked === 2, { what: 'both to be given back' })
    expect(told).toBe(false)
    made.open()
    expect(await ended).toBeInstanceOf(Error)
    expect([await hf.inspect('a'), await hf.inspect('b')]).toEqual([null, null])
    await hf.close()
  })

  test('who aborts does not wait for it, nor does anybody for longer than a budget', async () => {
    const made = gated()
    const hf = createHoldfast({ store: made.store, budget: 200 })
    const holder = await hf.lock('c').acquire()
    const controller = new AbortController()
    const begun = performance.now()
    const aborted = hf.lockAll(['a', 'b', 'c']).acquire({ wait: '10s', signal: controller.signal })
    setTimeout(() => controller.abort(new Error('enough')), 20)
    await expect(aborted).rejects.toThrow('enough')
    expect(await hf.lockAll(['d', 'e', 'c']).tryAcquire()).toBeNull()
    expect(performance.now() - begun).toBeLessThan(2_000)
    made.open()
    await holder.release()
    await hf.close()
  })
})

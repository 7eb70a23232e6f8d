import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { clientFamilies } from '../../src/clients.ts'
import {
  ownFolder,
  removeFolder,
  spawnWorker,
  startRedis,
  waitFor,
  type RedisServer,
  type Worker,
} from '../../src/index.ts'
import { Scene } from '../support/scene.ts'
import { isAcquire, isRelease } from '../support/scripts.ts'

/**
 * Goal: on one Redis server several names are one atomic step in one round trip; and between processes, also ones that die, nobody
 * is stuck and nothing stays.
 * Method: what goes over a proxy, what the server counted, and real processes.
 */

let server: RedisServer

beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())

describe.each(clientFamilies)('over %s', (kind) => {
  let scene: Scene
  afterEach(() => scene.end())
  const names = Array.from({ length: 40 }, (_, i) => `name-${i}`)

  test('forty names: one call to take them, a few at once to give them back', async () => {
    scene = await Scene.open(server, { kind })
    await scene.warmUp()
    const held = await scene.hf.lockAll(names).acquire()
    expect(scene.proxy.commands.byName).toEqual({ EVALSHA: 1 })
    expect(await scene.keys()).toHaveLength(40)
    await held.release()
    // The first goes at once, the others together, in two calls at the same time.
    expect(scene.proxy.commands.byName.EVALSHA).toBeLessThanOrEqual(4)
    expect(await scene.keys()).toEqual([])
  })

  test('two such calls in one turn are two steps: one gets all, the other none', async () => {
    scene = await Scene.open(server, { kind })
    await scene.warmUp()
    const [one, two] = await Promise.all([
      scene.hf.lockAll(['a', 'b', 'c']).tryAcquire(),
      scene.hf.lockAll(['c', 'd', 'e']).tryAcquire(),
    ])
    expect(one).not.toBeNull()
    expect(two).toBeNull()
    expect((await scene.keys()).sort()).toEqual(['a', 'b', 'c'].map((name) => scene.key(name)))
    await one?.release()
  })

  test('one is busy: not one key is written, so nobody is turned away by what is given back at once', async () => {
    // So long that nothing is asked twice because the machine is busy.
    scene = await Scene.open(server, { kind, budget: 20_000 })
    const other = await scene.another()
    const holder = await other.lock(names[20] as string).acquire()
    await scene.warmUp()
    await server.command('CONFIG', 'RESETSTAT')
    expect(await scene.hf.lockAll(names).tryAcquire()).toBeNull()
    const stats = await server.info('commandstats')
    expect(stats['cmdstat_set']).toBeUndefined()
    expect(stats['cmdstat_evalsha']).toContain('calls=1,')
    await holder.release()
  })

  test('A2: the answer is lost: had at the next try, the same for all', async () => {
    scene = await Scene.open(server, { kind })
    await scene.warmUp()
    const lost = scene.proxy.loseReplyOf(isAcquire)
    const held = await scene.hf.lockAll(['a', 'b', 'c']).acquire()
    expect(lost.count).toBe(1)
    expect(held.lost).toBeNull()
    await held.release()
    await waitFor(async () => (await scene.keys()).length === 0, { what: 'nothing to be left' })
  })

  test('A3: a lost grant of our own stands in the way: it is cleared away, and never called busy', async () => {
    scene = await Scene.open(server, { kind, budget: 300 })
    await scene.warmUp()
    // Granted, and given up by its caller before the answer came; its compensation never arrives.
    const grant = scene.proxy.delayReplyOf(isAcquire, 150)
    const compensation = scene.proxy.resetBefore(isRelease, { times: 1 })
    const controller = new AbortController()
    const asked = scene.hf.lock('b').acquire({ signal: controller.signal })
    await waitFor(async () => (await scene.value('b')) !== null, { what: 'the grant' })
    controller.abort(new Error('enough'))
    await expect(asked).rejects.toThrow('enough')
    await waitFor(() => compensation.count === 1, { what: 'the compensation to be lost' })
    expect(grant.count).toBe(1)
    const held = await scene.hf.lockAll(['a', 'b', 'c']).tryAcquire()
    expect(held?.lost).toBeNull()
    await held?.release()
    await waitFor(async () => (await scene.keys()).length === 0, { what: 'nothing to be left' })
  })

  test('A1: the grant comes later than its time: refused, and given back', async () => {
    scene = await Scene.open(server, { kind, budget: 1_800 })
    await scene.warmUp()
    const late = scene.proxy.delayReplyOf(isAcquire, 800)
    const outcome: unknown = await scene.hf
      .lockAll(['a', 'b', 'c'], { ttl: 500 })
      .tryAcquire()
      .catch((error: unknown) => error)
    expect(late.count).toBe(1)
    expect(outcome).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await waitFor(async () => (await scene.keys()).length === 0, { what: 'nothing to be left' })
  })
})

describe('between processes', () => {
  const workers: Worker[] = []
  let folder: string
  let runs = 0
  beforeAll(() => {
    folder = ownFolder('lock-all')
  })
  afterAll(() => removeFolder(folder))
  afterEach(async () => {
    for (const worker of workers.splice(0)) await worker.kill()
  })

  const spawn = async (store: object, prefix: string): Promise<Worker> => {
    const worker = await spawnWorker(join(import.meta.dirname, 'worker.ts'))
    workers.push(worker)
    await worker.call('open', store as never, prefix)
    return worker
  }
  const stores = {
    redis: () => ({ redis: server.url }),
    sqlite: () => ({ sqlite: join(folder, `${runs}.db`) }),
  }

  test.each(Object.keys(stores) as (keyof typeof stores)[])(
    'B8: opposite orders, 200 times each, on %s: never both at once, and fences rise',
    async (kind) => {
      const prefix = `all-workers${(runs += 1)}:v1`
      const [one, two] = [await spawn(stores[kind](), prefix), await spawn(stores[kind](), prefix)]
      interface Turn {
        readonly begun: number
        readonly ended: number
        readonly fences: string[]
      }
      const both = (await Promise.all([
        one.call('turns', ['a', 'b', 'c'], 200),
        two.call('turns', ['c', 'b', 'a'], 200),
      ])) as Turn[][]
      const turns = both.flat().sort((x, y) => x.begun - y.begun)
      expect(turns).toHaveLength(400)
      for (const [i, turn] of turns.entries()) {
        const before = turns[i - 1]
        if (before === undefined) continue
        expect(turn.begun).toBeGreaterThanOrEqual(before.ended)
        for (const [k, fence] of turn.fences.entries())
          expect(BigInt(fence)).toBeGreaterThan(BigInt(before.fences[k] ?? 0))
      }
    },
  )

  test.each(Object.keys(stores) as (keyof typeof stores)[])(
    'the holder is killed, on %s: all are had by the next after the ttl',
    async (kind) => {
      const prefix = `all-workers${(runs += 1)}:v1`
      const [one, two] = [await spawn(stores[kind](), prefix), await spawn(stores[kind](), prefix)]
      void one.call('hold', ['a', 'b', 'c'], 1_000).catch(() => undefined)
      await one.next('held')
      await one.kill()
      const killed = performance.now()
      await two.call('turns', ['c', 'a'], 1)
      expect(performance.now() - killed).toBeLessThan(4_000)
    },
  )
})

import { createHoldfast, StoreRefusedError } from 'holdfast'
import { redisStore } from 'holdfast/redis'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { clientKinds, connectClient, type ConnectedClient } from '../../src/clients.ts'
import { faults, sleep, spawnWorker, startRedis, waitFor, type RedisServer } from '../../src/index.ts'
import { Scene } from '../support/scene.ts'
import { settle } from '../support/settling.ts'

/**
 * Goal: the library's scripts are there when they are needed, whatever the server forgets, this machine lacks, or an
 * operator forbids; and what is forbidden is said.
 * Method: a process without SHA-1; SCRIPT FLUSH between calls and all the while; users with and without rights.
 */

let server: RedisServer

beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())

describe.each(clientKinds)('%s', (kind) => {
  let scene: Scene

  afterEach(() => scene.end())

  test('D12, fault 26: SCRIPT FLUSH between acquire, renewal, extend and release', async () => {
    scene = await Scene.open(server, { kind })
    const flush = () => faults.scriptFlush(server)
    await flush()
    const held = await scene.hf.lock('a', { ttl: 600 }).acquire()
    await flush()
    await held.extend(700)
    await flush()
    // The watchdog renews it twice at least, each time anew.
    for (let i = 0; i < 2; i += 1) {
      await flush()
      const { proxy } = scene
      const before = proxy.commands.byName.EVAL ?? 0
      await waitFor(() => (proxy.commands.byName.EVAL ?? 0) > before, {
        what: 'a renewal with the script whole',
      })
    }
    expect(held.lost).toBeNull()
    expect(await scene.owner('a')).toBe(held.owner)
    await flush()
    expect(await scene.hf.inspect('a')).toMatchObject({ owner: held.owner })
    await flush()
    expect(await held.release()).toEqual({ released: true, confirmed: true })
    expect(await scene.keys()).toEqual([])
  })

  test('fault 26, 34: the server has forgotten the script, and its word of it is lost: the release is done all the same', async () => {
    scene = await Scene.open(server, { kind, budget: 600 })
    const held = await scene.hf.lock('a', { ttl: '30s' }).acquire()
    await faults.scriptFlush(server)
    scene.proxy.toClient.drop()
    const { error } = await settle(held.release())
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', outcome: 'unknown' })
    expect(await scene.keys()).toEqual([])
    scene.proxy.toClient.pass()
  })

  test('D12, fault 26: SCRIPT FLUSH all the while', async () => {
    scene = await Scene.open(server, { kind })
    const other = await scene.another()
    let over = false
    let flushes = 0
    const flushing = (async () => {
      while (!over) {
        await faults.scriptFlush(server)
        flushes += 1
        await sleep(1)
      }
    })()
    let inside = 0
    let most = 0
    const work = async (): Promise<void> => {
      most = Math.max(most, (inside += 1))
      await sleep(1)
      inside -= 1
    }
    const users = [scene.hf, other].map(async (hf) => {
      for (let i = 0; i < 100; i += 1) await hf.lock('a', { wait: '20s' }).run(work)
    })
    await Promise.all(users)
    over = true
    await flushing
    expect(most).toBe(1)
    expect(flushes).toBeGreaterThan(20)
    expect(scene.proxy.commands.byName.EVAL).toBeGreaterThan(10)
    await waitFor(async () => (await scene.keys()).length === 0, { what: 'nothing to be left' })
  })
})

test('D12: a process without SHA-1 locks all the same', async () => {
  const worker = await spawnWorker(new URL('./no-sha1-worker.ts', import.meta.url))
  try {
    for (const kind of clientKinds) {
      expect(await worker.call('cycle', kind, server.url), kind).toEqual({
        released: { released: true, confirmed: true },
        longName: { released: true, confirmed: true },
        // The process really has none.
        sha1: 'unsupported',
      })
    }
  } finally {
    await worker.kill()
  }
})

describe('an ACL', () => {
  let connected: ConnectedClient | undefined

  afterEach(() => connected?.close())

  async function holdfastAs(user: string, ...rules: string[]) {
    await server.command('ACL', 'SETUSER', user, 'reset', 'on', '>pw', ...rules)
    const url = server.url.replace('://', `://${user}:pw@`)
    connected = await connectClient('redis', url)
    return createHoldfast({ store: redisStore(connected.client), prefix: 'acl:v1', budget: '10s' })
  }

  test('D12: that forbids scripts: StoreRefusedError, which names NOPERM and the rights that are needed', async () => {
    const hf = await holdfastAs('no-scripts', '~*', '&*', '+@all', '-@scripting')
    for (const call of [
      () => hf.lock('a').acquire({ wait: '5s' }),
      () => hf.lock('a').tryAcquire(),
      () => hf.inspect('a'),
      () => hf.forceRelease('a'),
    ]) {
      const { error, ms } = await settle<unknown>(call())
      expect(error).toBeInstanceOf(StoreRefusedError)
      expect(error).toMatchObject({ retryable: false, outcome: 'not-done', details: { reason: 'NOPERM' } })
      expect(error?.message).toContain('the server said "NOPERM')
      expect(error?.message).toContain('+@scripting')
      // Asking again cannot help, so nobody waits for it.
      expect(ms).toBeLessThan(1_000)
    }
    await hf.close()
  })

  test('D12: that forbids the keys: the same', async () => {
    const hf = await holdfastAs('other-keys', '~other:*', '&*', '+@all')
    const { error } = await settle(hf.lock('a').acquire({ wait: '5s' }))
    expect(error).toBeInstanceOf(StoreRefusedError)
    expect(error).toMatchObject({ retryable: false, outcome: 'not-done', details: { reason: 'NOPERM' } })
    expect(error?.message).toContain('~PREFIX:*')
    await hf.close()
  })

  // Whoever waits would make a key that stays for ever.
  test('6: that forbids PEXPIRE: whoever waits leaves no key without an expiry, and gets the lock by asking', async () => {
    const hf = await holdfastAs('no-pexpire', '~*', '&*', '+@all', '-pexpire')
    const holder = await connectClient('ioredis', server.url)
    const other = createHoldfast({ store: redisStore(holder.client), prefix: 'acl:v1' })
    try {
      const held = await other.lock('a').acquire()
      const waiting = hf.lock('a', { wait: '20s' }).acquire()
      await expect(hf.lock('a', { wait: 50 }).acquire()).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' })
      for (const key of (await server.command('KEYS', 'acl:v1:*')) as string[])
        expect(await server.command('PTTL', key), key).toBeGreaterThan(0)
      await held.release()
      await (await waiting).release()
    } finally {
      await other.close()
      holder.close()
      await hf.close()
    }
  })

  test('that grants just what the error asks for is enough for everything', async () => {
    const rules = [
      '+@scripting',
      '+@read',
      '+@write',
      '+time',
      '+publish',
      '+subscribe',
      '~acl:v1:*',
      '&acl:v1:*',
    ]
    // What the client sends by itself when it connects.
    const hf = await holdfastAs('just-enough', ...rules, '+hello', '+client', '+info', '+ping')
    const other = createHoldfast({
      store: redisStore((connected as ConnectedClient).client),
      prefix: 'acl:v1',
    })
    const held = await hf.lock('a', { ttl: 600 }).acquire()
    await held.extend(700)
    expect(await hf.inspect('a')).toMatchObject({ owner: held.owner })
    const waiting = other.lock('a').acquire({ wait: '20s' })
    await waitFor(async () => ((await hf.inspect('a'))?.waiters ?? 0) === 1, { what: 'the other to wait' })
    expect(await held.release()).toEqual({ released: true, confirmed: true })
    const next = await waiting
    expect(await hf.forceRelease('a', { owner: next.owner })).toMatchObject({ released: true })
    await waitFor(() => next.lost !== null, { what: 'the holder to be told' })
    await hf.close()
    await other.close()
  })
})

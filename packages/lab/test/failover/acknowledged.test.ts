import { createHoldfast, NotAcknowledgedError, type Holdfast } from 'holdfast'
import { redisStore, type AcknowledgeOptions } from 'holdfast/redis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { clientKinds, connectClient, type ClientKind } from '../../src/clients.ts'
import { hasWaitaof, sleep, startRedis, startReplicaSet, waitFor, type ReplicaSet } from '../../src/index.ts'

import { isRelease } from '../support/scripts.ts'

/**
 * Goal: an acknowledged grant is on the replicas when it is told, one that is not is undone and told, and no deadline moves without
 * them.
 * Method: a primary and two replicas, each behind a proxy that can hold back what it is sent; the clients' commands are read at a proxy
 * before the primary.
 */

const BOTH = { replicas: 2, of: 2, within: '60ms' } as const

let set: ReplicaSet
let spaces = 0
const ends: (() => unknown)[] = []

beforeAll(async () => {
  set = await startReplicaSet({ links: true })
})
afterAll(() => set.stop())
beforeEach(() => set.untilInSync())
afterEach(async () => {
  for (const link of set.links) link.toClient.pass()
  await set.door.heal()
  for (const end of ends.splice(0).reverse()) await end()
})

async function open(
  kind: ClientKind,
  acknowledge: AcknowledgeOptions = BOTH,
  prefix = `ack${(spaces += 1)}:v1`,
  budget = 1_000,
): Promise<Scene> {
  const door = await connectClient(kind, set.door.url)
  ends.push(() => door.close())
  const hf = createHoldfast({ prefix, budget, store: redisStore(door.client, { acknowledge }) })
  ends.push(() => hf.close())
  return { hf, prefix, key: (name) => `${prefix}:{${name}}:lock` }
}

interface Scene {
  readonly hf: Holdfast
  readonly prefix: string
  readonly key: (name: string) => string
}

const [primaryOf, replicaOf] = [
  () => set.servers[0] as never as Server,
  (i: number) => set.servers[i + 1] as Server,
]
type Server = ReplicaSet['servers'][number]

describe.each(clientKinds)('%s', (kind) => {
  test('a grant is on both replicas when it is told, also with calls that travel together', async () => {
    const { hf, key } = await open(kind, BOTH, undefined, 5_000)
    for (const link of set.links) link.toClient.delay(10)
    await (await hf.lock('warm').acquire()).release()
    set.door.resetCounts()
    const names = Array.from({ length: 64 }, (_, i) => `lock-${i}`)
    await Promise.all(
      names.map(async (name) => {
        const held = await hf.lock(name).acquire()
        for (const i of [0, 1])
          expect(await replicaOf(i).command('GET', key(name))).toContain(`#${held.fence}`)
        expect(await held.release()).toEqual({ released: true, confirmed: true })
      }),
    )
    expect(set.door.commands.byName.WAIT).toBeLessThan(32)
  })

  test('A5: not acknowledged five times, then acknowledged: held once; given up: no key is left', async () => {
    const { hf, key } = await open(kind)
    await (await hf.lock('a').acquire()).release()
    const [link] = set.links
    link?.toClient.hold()
    set.door.resetCounts()
    const waiting = hf.lock('a', { ttl: '5s' }).acquire({ wait: '10s' })
    await waitFor(() => (set.door.commands.byName.WAIT ?? 0) >= 5, { what: 'five tries', within: 10_000 })
    link?.toClient.pass()
    const held = await waiting
    expect(await replicaOf(0).command('GET', key('a'))).toContain(`#${held.fence}`)
    await held.release()
    expect(await primaryOf().command('GET', key('a'))).toBeNull()
    link?.toClient.hold()
    const refused = await hf
      .lock('b')
      .tryAcquire()
      .catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(NotAcknowledgedError)
    expect(refused).toMatchObject({
      code: 'NOT_ACKNOWLEDGED',
      outcome: 'unknown',
      retryable: true,
      details: { acknowledged: 1, replicas: 2, of: 2, connected: 2 },
    })
    await waitFor(async () => (await primaryOf().command('GET', key('b'))) === null, { what: 'b to be free' })
  })

  test('a renewal that is not acknowledged moves no deadline, nor does an extension', async () => {
    const { hf } = await open(kind)
    const held = await hf.lock('a', { ttl: 2_500 }).acquire()
    set.links[1]?.toClient.hold()
    // In this order: the reading of the clock may come late, and must not come early.
    const left = held.remaining()
    const end = performance.now() + left
    await expect(held.extend('1m')).rejects.toBeInstanceOf(NotAcknowledgedError)
    for (;;) {
      const at = performance.now()
      if (held.lost !== null) break
      expect(at + held.remaining()).toBeLessThan(end + 5)
      await sleep(20)
    }
    // On a busy machine the last renewal may come too late to be acted on, and is answered so.
    expect(['unreachable', 'expired']).toContain(held.lost)
  })

  test('what is waited for was written on the same connection just before; nothing is sent again', async () => {
    const door = set.door
    const log: { connection: number; name: string }[] = []
    door.onCommand(({ connection, name }) => {
      log.push({ connection, name })
      return undefined
    })
    const { hf } = await open(kind)
    await (await hf.lock('a').acquire()).release()
    door.loseReplyOf((command) => command.name === 'WAIT', { times: 2 })
    const held = await hf.lock('a').acquire()
    await held.release()
    const waits = log.filter(({ name }) => name === 'WAIT')
    expect(waits.length).toBeGreaterThanOrEqual(4)
    for (const [i, { connection, name }] of log.entries()) {
      if (name !== 'WAIT') continue
      const before = log.slice(0, i).filter((each) => each.connection === connection)
      expect(before.at(-1)?.name).toMatch(/^EVAL/)
    }
  })

  test('asked again, it is written again: a new connection, which has nothing else to wait for, does not take it for acknowledged', async () => {
    const { hf } = await open(kind, BOTH, undefined, 5_000)
    await (await hf.lock('a').acquire()).release()
    set.links[0]?.toClient.hold()
    set.door.loseReplyOf((command) => command.name === 'WAIT', { times: 2 })
    await expect(hf.lock('a').tryAcquire()).rejects.toBeInstanceOf(NotAcknowledgedError)
  })

  test('so does a renewal that changes nothing', async () => {
    const { hf } = await open(kind, BOTH, undefined, 5_000)
    const held = await hf.lock('a', { ttl: '1m', renew: false }).acquire()
    set.links[0]?.toClient.hold()
    set.door.loseReplyOf((command) => command.name === 'WAIT', { times: 2 })
    await expect(held.extend('2s')).rejects.toBeInstanceOf(NotAcknowledgedError)
    set.links[0]?.toClient.pass()
    await held.release()
  })

  test('several names, one of them being released and one busy: none stays taken', async () => {
    const { hf, prefix } = await open(kind)
    const { hf: other } = await open(kind, BOTH, prefix)
    const theirs = await other.lock('c').acquire()
    const held = await hf.lock('b').acquire()
    const released = held.release()
    expect(await hf.lockAll(['a', 'b', 'c']).tryAcquire()).toBeNull()
    await released
    for (const name of ['a', 'b']) {
      const free = await other.lock(name, { wait: '2s' }).acquire()
      await free.release()
    }
    await theirs.release()
  })

  test('an acquire never overtakes the release of its name', async () => {
    const { hf } = await open(kind)
    const lock = hf.lock('a')
    const held = await lock.acquire()
    const request = set.door.holdRequest(isRelease)
    const released = held.release()
    const next = lock.tryAcquire()
    await request.held
    // As long as an acquire that did not wait for it would take.
    await sleep(30)
    await request.deliver()
    await released
    expect(await next).not.toBeNull()
    await (await next)?.release()
  })
})

describe('D14: the replica that did not acknowledge is promoted', () => {
  test('with one of two the lock is granted again, and that is shown; with two of two it is not granted at all', async () => {
    const own = await startReplicaSet({ links: true })
    ends.push(() => own.stop())
    const openOwn = async (acknowledge?: AcknowledgeOptions): Promise<Holdfast> => {
      const { client, close } = await connectClient('ioredis', own.door.url)
      const hf = createHoldfast({
        store: redisStore(client, acknowledge === undefined ? {} : { acknowledge }),
      })
      ends.push(async () => {
        await hf.close()
        close()
      })
      return hf
    }
    const [one, both, other] = [await openOwn({ replicas: 1, of: 2 }), await openOwn(BOTH), await openOwn()]
    await (await both.lock('warm').acquire()).release()
    await own.untilInSync()
    own.links[1]?.toClient.hold()
    await expect(both.lock('safe').tryAcquire()).rejects.toBeInstanceOf(NotAcknowledgedError)
    const held = await one.lock('risky', { ttl: '30s', renew: false }).acquire()
    await own.killPrimary(own.servers[0] as Server)
    await own.promote(own.servers[2] as Server)
    const again = await other.lock('risky').acquire({ wait: '5s' })
    expect(again.fence).toBeGreaterThan(held.fence)
  })
})

describe('refused, and why', () => {
  test('a server without replicas is named, and the lock is undone', async () => {
    const single = await startRedis()
    ends.push(() => single.stop())
    const client = await connectClient('ioredis', single.url)
    ends.push(() => client.close())
    const hf = createHoldfast({ store: redisStore(client.client, { acknowledge: BOTH }) })
    ends.push(() => hf.close())
    await expect(hf.lock('a').tryAcquire()).rejects.toThrow(
      /0 of 2 replicas had it within 60 ms, and 2 must; the server has no replica/,
    )
    await waitFor(async () => (await single.command('EXISTS', 'holdfast:v1:{a}:lock')) === 0, {
      what: 'no key',
    })
  })

  test('disk needs WAITAOF and an append-only file, of which this server lacks one: nothing is granted', async () => {
    const { hf, key } = await open('ioredis', { ...BOTH, disk: true })
    const lacks = (await hasWaitaof()) ? 'an append-only file' : 'WAITAOF'
    await expect(hf.lock('a').tryAcquire()).rejects.toThrow(`acknowledge.disk: true needs ${lacks}`)
    expect(await primaryOf().command('EXISTS', key('a'))).toBe(0)
  })

  test('more replicas than are counted: one that is not waited for could be promoted', async () => {
    const { hf } = await open('ioredis', { replicas: 1, of: 1 })
    await expect(hf.lock('a').tryAcquire()).rejects.toThrow(
      /2 replicas are connected, more than acknowledge.of \(1\)/,
    )
  })

  test.each([
    [{ replicas: 0, of: 2 }, 'acknowledge.replicas'],
    [{ replicas: 3, of: 2 }, 'acknowledge.replicas'],
    [{ replicas: 1 }, 'acknowledge.of'],
    [{ replicas: 1, of: 1, within: 0 }, 'acknowledge.within'],
    [{ replicas: 1, of: 1, disk: 1 }, 'acknowledge.disk'],
    [{ replicas: 1, of: 1, timeout: 5 }, 'acknowledge.timeout'],
    [true, 'acknowledge'],
  ])('%j', async (acknowledge, option) => {
    const { client } = await connectClient('ioredis', set.door.url).then((c) => {
      ends.push(() => c.close())
      return c
    })
    let thrown: unknown
    try {
      redisStore(client, { acknowledge: acknowledge as never })
    } catch (error) {
      thrown = error
    }
    expect(thrown).toMatchObject({ code: 'INVALID_ARGUMENT', option })
  })

  test('a ttl that could be over before the replicas answer', async () => {
    const { hf } = await open('ioredis')
    await expect(hf.lock('a', { ttl: 60 }).tryAcquire()).rejects.toThrow(
      /^ttl: 60 is not longer than acknowledge.within/,
    )
  })
})

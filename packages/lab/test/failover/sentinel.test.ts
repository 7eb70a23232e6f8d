import { createHoldfast, slidingWindow, type Held, type Holdfast } from 'holdfast'
import { redisStore } from 'holdfast/redis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { clientKinds, connectClient, connectWatched, type ClientKind } from '../../src/clients.ts'
import {
  sleep,
  startReplicaSet,
  waitFor,
  type ReplicaSet,
  type ReplicaSetOptions,
  type RedisServer,
} from '../../src/index.ts'

/**
 * Goal: locks, waits, limits and idempotency go through a switch of the primary without a restart of anything.
 * Method: a set with three sentinels; four clients, two processes each. The primary is killed, then the next one is replaced by order. What
 * is served is held against the first moment in which the new primary takes a write.
 */

/**
 * How long after the first write that the new primary took a waiter may be served, in milliseconds. A second is meant; four clients and three
 * servers share this machine with other tests.
 */
const SERVED_WITHIN = 3_000

let set: ReplicaSet
const processes = new Map<ClientKind, readonly [Holdfast, Holdfast]>()
const ends: (() => Promise<unknown>)[] = []

async function open(kind: ClientKind, watched: boolean): Promise<Holdfast> {
  const { client, close } = await (watched ? connectWatched(kind, set) : connectClient(kind, set.door.url))
  const hf = createHoldfast({ store: redisStore(client) })
  ends.push(async () => {
    await hf.close()
    await close()
  })
  return hf
}

const pair = (kind: ClientKind): readonly [Holdfast, Holdfast] => processes.get(kind) as [Holdfast, Holdfast]
const each = <T>(work: (kind: ClientKind) => Promise<T>): Promise<T[]> => Promise.all(clientKinds.map(work))

async function start(options: ReplicaSetOptions): Promise<void> {
  set = await startReplicaSet(options)
  const watched = (options.sentinels ?? 0) > 0
  await each(async (kind) => processes.set(kind, [await open(kind, watched), await open(kind, watched)]))
}

async function stop(): Promise<void> {
  await Promise.all(ends.splice(0).map((end) => end()))
  const primary = await set.untilPrimary()
  // No subscription is left.
  await waitFor(
    async () => ((await primary.command('PUBSUB', 'CHANNELS', 'holdfast:*')) as string[]).length === 0,
    { what: 'no subscription to be left' },
  )
  await set.stop()
}

/** Switches the primary by `act`, and what all four clients go through meanwhile. */
async function goThrough(name: string, act: (primary: RedisServer) => Promise<unknown>): Promise<void> {
  const [old] = (await set.primaries()) as [RedisServer]
  const policy = slidingWindow({ limit: 1_000_000, per: '1m' })
  const held = await each((kind) => pair(kind)[0].lock(`${name}-held-${kind}`, { ttl: '20s' }).acquire())
  const waiting = clientKinds.map((kind) =>
    pair(kind)[1].lock(`${name}-held-${kind}`).acquire({ wait: '40s' }),
  )
  for (const one of waiting) one.catch(() => undefined)
  const charged = await each((kind) => charge(pair(kind)[0], `${name}-${kind}`))
  expect(charged.every(({ replayed }) => !replayed)).toBe(true)
  await each(async (kind) => {
    await pair(kind)[0].limiter('api', policy, { budget: '5s' }).take(kind)
    await waitFor(async () => (await pair(kind)[0].inspect(`${name}-held-${kind}`))?.waiters === 1, {
      what: 'the waiter to stand',
    })
  })
  await set.untilInSync()
  const switched = act(old)
  const served = new Map<ClientKind, number>()
  const free = each(async (kind) => {
    await sleep(50)
    const lock = await pair(kind)[1].lock(`${name}-free-${kind}`).acquire({ wait: '40s' })
    served.set(kind, performance.now())
    await lock.release()
  })
  const primary = await set.untilPrimary({ than: old, within: 30_000 })
  const writable = performance.now()
  await switched
  const moved = performance.now()
  await free
  for (const kind of clientKinds) {
    const delay = Math.max(0, (served.get(kind) ?? Infinity) - Math.max(writable, moved))
    if (process.env.HOLDFAST_MEASURE !== undefined)
      console.info(`${name}, ${kind}: served after ${Math.round(delay)} ms`)
    expect(delay).toBeLessThan(SERVED_WITHIN)
  }
  for (const one of held) expect(one.lost).toBeNull()
  await Promise.all(
    held.map(async (one: Held, i) => {
      expect((await one.release()).released).toBe(true)
      const released = performance.now()
      const next = await (waiting[i] as Promise<Held>)
      expect(performance.now() - released).toBeLessThan(1_500)
      expect(next.fence).toBeGreaterThan(one.fence)
      await next.release()
    }),
  )
  await each(async (kind) => {
    expect((await charge(pair(kind)[1], `${name}-${kind}`)).replayed).toBe(true)
    const { allowed, remaining } = await pair(kind)[1].limiter('api', policy, { budget: '5s' }).take(kind)
    expect(allowed).toBe(true)
    expect(remaining).toBeLessThan(999_999)
  })
  expect(await primary.command('EXISTS', `holdfast:v1:{${name}-free-redis}:lock`)).toBe(0)
}

const charge = (hf: Holdfast, key: string) =>
  hf.idempotency(`payments`).run({ key, scope: 'global' }, { fingerprint: key }, async () => 'charged')

describe('a set with sentinels, over four clients', () => {
  beforeAll(() => start({ sentinels: 3 }))
  afterAll(stop)

  test('13, 15, 24, E21: the primary is killed: holders hold, waiters are served by the new one', async () => {
    await goThrough('killed', (primary) => primary.kill())
  })
})

describe('an address that moves, over four clients', () => {
  beforeAll(() => start({ replicas: 1 }))
  afterAll(stop)

  test('24, D13: READONLY from the old primary until the address leads to the new one', async () => {
    await goThrough('moved', async (old) => {
      const [next] = set.replicas as [RedisServer]
      await next.command('REPLICAOF', 'NO', 'ONE')
      await old.command('REPLICAOF', next.host, next.port)
      // For a while every client is answered READONLY.
      await sleep(400)
      set.door.leadTo(next)
    })
  })
})

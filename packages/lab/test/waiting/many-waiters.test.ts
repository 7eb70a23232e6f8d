import { createHoldfast, type Held } from 'holdfast'
import { redisStore } from 'holdfast/redis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { connectClient, type ConnectedClient } from '../../src/clients.ts'
import {
  sleep,
  spawnWorker,
  startProxy,
  startRedis,
  waitFor,
  type RedisServer,
  type TcpProxy,
  type Worker,
} from '../../src/index.ts'
import { isAcquire } from '../support/scripts.ts'
import type { Turn } from './waiter-worker.ts'

/**
 * Goal: many who wait cost the server little, come in without a rush, and are not held up by those of them that died.
 * Method: real processes, whose way to the server is a proxy that counts and notes the time of every command.
 */

const SOON_MS = 500
const POLL_MS = 1_250 + SOON_MS

const workerFile = new URL('./waiter-worker.ts', import.meta.url)

let server: RedisServer
let proxy: TcpProxy
let client: ConnectedClient
let prefix: string
let workers: Worker[] = []
let holder: ReturnType<typeof createHoldfast>
let tests = 0

beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())
beforeEach(async () => {
  prefix = `many${(tests += 1)}:v1`
  proxy = await startProxy({ target: server, record: true })
  client = await connectClient('ioredis', server.url)
  holder = createHoldfast({ store: redisStore(client.client), prefix })
})
afterEach(async () => {
  await Promise.all(workers.map((worker) => worker.kill()))
  workers = []
  await holder.close()
  client.close()
  await proxy.close()
})

async function startWorkers(count: number, instances = 1): Promise<Worker[]> {
  const started = await Promise.all(Array.from({ length: count }, () => spawnWorker(workerFile)))
  workers.push(...started)
  await Promise.all(started.map((worker) => worker.call('open', proxy.url, prefix, instances)))
  return started
}

/** Who stands in the queue of `a`: a member for the place and one for the sign of life of each. */
const standing = async () => ((await server.command('ZCARD', `${prefix}:{a}:queue`)) as number) / 2
const stands = (count: number) =>
  waitFor(async () => (await standing()) === count, { what: `${count} in the queue`, within: 20_000 })

describe('D8: 200 waiters', () => {
  const SECONDS = 4

  test.each([
    ['in one process', 1, 1, 200],
    ['in four processes', 4, 1, 50],
    ['as 200 instances in four processes', 4, 50, 1],
  ])(
    '%s: fewer than five commands a second for each that the server sees',
    async (_, processes, instances, each) => {
      const held = await holder.lock('a', { ttl: '10m' }).acquire()
      const all = await startWorkers(processes, instances)
      await Promise.all(all.map((worker) => worker.call('wait', 'a', each, 0)))
      const contenders = processes * instances
      await stands(contenders)
      await sleep(1_000)
      proxy.resetCounts()
      await sleep(SECONDS * 1_000)
      const { total } = proxy.commands
      const asks = proxy.log
        .filter(({ command: [name = '', ...args] }) => isAcquire({ name, args }))
        .map(({ at }) => at)
      expect(total).toBeLessThan(5 * SECONDS * contenders)
      expect(total).toBeLessThan(5 * SECONDS * 200)
      // They do ask: about once a second.
      expect(asks.length).toBeGreaterThanOrEqual(Math.floor((SECONDS * contenders) / 2))
      if (contenders === 200) expect(mostWithin(5, asks)).toBeLessThan(100)
      await held.release()
      // The first is in at once, and all of them one after the other.
      await waitFor(() => all.some(({ events }) => events.some(({ event }) => event === 'in')), {
        what: 'the first',
      })
      const came = () => all.flatMap(({ events }) => events.filter(({ event }) => event === 'in')).length
      await waitFor(() => came() === 200, {
        what: () => `all 200 to come in (so far ${came()})`,
        within: 30_000,
      })
      expect(all.flatMap(({ events }) => events.filter(({ event }) => event === 'failed'))).toEqual([])
      await stands(0)
    },
  )
})

/** The most of the times that lie within so many milliseconds. */
function mostWithin(ms: number, times: readonly number[]): number {
  const sorted = [...times].sort((a, b) => a - b)
  let most = 0
  for (let first = 0, last = 0; last < sorted.length; last += 1) {
    while ((sorted[last] as number) - (sorted[first] as number) > ms) first += 1
    most = Math.max(most, last - first + 1)
  }
  return most
}

describe('waiters that were killed', () => {
  const cameIn = (worker: Worker) => worker.events.some(({ event }) => event === 'in')

  /** Processes that stand in the queue, in this order. */
  async function inOrder(count: number): Promise<Worker[]> {
    const all = await startWorkers(count)
    const before = await standing()
    for (const [n, worker] of all.entries()) {
      await worker.call('wait', 'a', 1, 0)
      await stands(before + n + 1)
    }
    return all
  }

  test('at the head of the queue a moment ago cost a poll each at most', async () => {
    const held = await holder.lock('a', { ttl: '10m' }).acquire()
    const all = await inOrder(5)
    const [dead, living] = [all.slice(0, 3), all.slice(3)]
    await Promise.all(dead.map((worker) => worker.kill()))
    await held.release()
    await waitFor(() => living.every(cameIn), { what: 'the living', within: living.length * POLL_MS })
    await waitFor(async () => (await holder.inspect('a')) === null, { what: 'the lock to be free' })
  })

  test('a while ago are passed over: the next living one is woken at once', async () => {
    const held = await holder.lock('a', { ttl: '10m' }).acquire()
    const dead = await inOrder(2)
    await Promise.all(dead.map((worker) => worker.kill()))
    const [living] = await inOrder(1)
    if (living === undefined) throw new Error('no worker')
    // Three missed heartbeats.
    await waitFor(async () => (await holder.inspect('a'))?.waiters === 1, {
      what: 'the dead to count as dead',
      within: 10_000,
    })
    expect(await standing()).toBe(3)
    await sleep(200)
    await held.release()
    await waitFor(() => cameIn(living), { what: 'the living one', within: SOON_MS })
    await stands(0)
  })

  test('while they held the lock: the next one is in when the lease has ended', async () => {
    const [first] = await startWorkers(1)
    if (first === undefined) throw new Error('no worker')
    await first.call('wait', 'b', 1, 60_000)
    await first.next('in')
    await first.kill()
    // The lease is as long as the worker's, a minute: the operator does not wait for it.
    const waiting = holder.lock('b', { wait: '30s' }).acquire()
    await sleep(300)
    const forced = createHoldfast({ store: redisStore(client.client), prefix })
    expect(await forced.forceRelease('b')).toMatchObject({ released: true })
    const held: Held = await waiting
    expect(held.lost).toBeNull()
    await forced.close()
    await held.release()
  })
})

describe('two processes that take a lock again and again', () => {
  test('hand it to each other: whose release found a waiter stands back once', async () => {
    const TURNS = 60
    const all = await startWorkers(2)
    const turns = await Promise.all(all.map((worker) => worker.call<Turn[]>('loop', 'a', TURNS, 3)))
    const order = turns
      .flatMap((own, process) => own.map((turn) => ({ ...turn, process })))
      .sort((a, b) => Number(BigInt(a.fence) - BigInt(b.fence)))
    expect(order).toHaveLength(2 * TURNS)
    // Never two at once, by the clock that both share.
    order.slice(1).forEach((turn, n) => expect(turn.begun).toBeGreaterThanOrEqual(order[n]?.ended ?? 0))
    // While both are at it; at the ends one of them is alone.
    const together = order.slice(
      Math.max(...[0, 1].map((process) => order.findIndex((turn) => turn.process === process))),
      1 + Math.min(...[0, 1].map((process) => order.findLastIndex((turn) => turn.process === process))),
    )
    const repeats = together.filter((turn, n) => n > 0 && together[n - 1]?.process === turn.process).length
    expect(together.length).toBeGreaterThan(TURNS)
    expect(repeats).toBeLessThan(together.length * 0.2)
  })
})

describe('one process', () => {
  test('its waiters have their turns in the order in which they came, and cost one contender', async () => {
    const other = createHoldfast({ store: redisStore(client.client), prefix })
    const held = await other.lock('a').acquire()
    const order: number[] = []
    const all = Array.from({ length: 50 }, (_, n) => holder.lock('a').run(() => order.push(n)))
    await stands(1)
    await sleep(50)
    await held.release()
    await Promise.all(all)
    expect(order).toEqual(all.map((_, n) => n))
    await other.close()
  })

  test('L6: when its wait is over it says who holds the lock', async () => {
    const other = createHoldfast({ store: redisStore(client.client), prefix })
    const held = await other.lock('a').acquire()
    const began = performance.now()
    const refusals = [1, 2].map(() =>
      holder
        .lock('a', { wait: 400 })
        .acquire()
        .catch((error: unknown) => error),
    )
    for (const refusal of await Promise.all(refusals)) {
      expect(refusal).toMatchObject({ code: 'LOCK_TIMEOUT', holder: held.owner, retryable: true })
    }
    expect(performance.now() - began).toBeLessThan(400 + 100 + SOON_MS)
    await stands(0)
    await other.close()
  })
})

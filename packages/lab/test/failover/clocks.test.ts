import { createHoldfast, fixedWindow, listen, slidingCounter, slidingWindow, tokenBucket } from 'holdfast'
import { redisStore } from 'holdfast/redis'
import { afterEach, describe, expect, test } from 'vitest'
import { connectClient } from '../../src/clients.ts'
import {
  canShiftClocks,
  ShiftedClock,
  sleep,
  startProxy,
  startRedis,
  waitFor,
  type RedisServer,
} from '../../src/index.ts'

/**
 * Goal: a server whose clock stands five seconds from its predecessor's, or is set while locks are held, admits no more than it may and locks
 * nobody out; holders are told.
 * Method: real servers with a clock of their own (a preloaded library, which takes a C compiler), a replica that takes over.
 */

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

const possible = await canShiftClocks()

async function shifted(ms: number): Promise<{ server: RedisServer; clock: ShiftedClock }> {
  const clock = await ShiftedClock.make()
  clock.set(ms)
  ends.push(() => clock.end())
  const server = await startRedis({ clock, config: { 'repl-diskless-sync-delay': 0 } })
  ends.push(() => server.stop())
  return { server, clock }
}

async function clockOf(server: RedisServer): Promise<number> {
  const [seconds, micros] = (await server.command('TIME')) as [string, string]
  return Number(seconds) * 1_000 + Number(micros) / 1_000
}

async function openAt(url: string) {
  const { client, close } = await connectClient('ioredis', url)
  const hf = createHoldfast({ store: redisStore(client), budget: '2s' })
  ends.push(async () => {
    await hf.close()
    close()
  })
  return hf
}

const LIMIT = 10
const PER = 1_500
const POLICIES = {
  'sliding window': slidingWindow({ limit: LIMIT, per: PER }),
  'fixed window': fixedWindow({ limit: LIMIT, per: PER }),
  'sliding counter': slidingCounter({ limit: LIMIT, per: PER }),
  'token bucket': tokenBucket({ capacity: LIMIT, refill: LIMIT, per: PER }),
}

describe.skipIf(!possible)('a replica takes over', () => {
  test.each([-5_000, 5_000])(
    'E20: its clock is %i ms from the old one: bursts within the limit, nobody locked out beyond a window',
    async (ms) => {
      const primary = await startRedis({ config: { 'repl-diskless-sync-delay': 0 } })
      ends.push(() => primary.stop())
      const { server: replica } = await shifted(ms)
      expect((await clockOf(replica)) - (await clockOf(primary))).toBeCloseTo(ms, -3)
      await replica.command('REPLICAOF', primary.host, primary.port)
      const door = await startProxy({ target: primary })
      ends.push(() => door.close())
      const hf = await openAt(door.url)
      const limiters = Object.entries(POLICIES).map(([name, policy]) =>
        hf.limiter(name, policy, { budget: '3s' }),
      )
      const many = (limiter: (typeof limiters)[number]) =>
        Promise.all(Array.from({ length: 3 * LIMIT }, () => limiter.take('u')))
      for (const limiter of limiters)
        expect((await many(limiter)).filter(({ allowed }) => allowed).length).toBeGreaterThanOrEqual(LIMIT)
      const inSync = async (): Promise<boolean> => {
        const { slave_repl_offset: copied, master_link_status: link } = await replica.info('replication')
        return link === 'up' && copied === (await primary.info('replication')).master_repl_offset
      }
      await waitFor(inSync, { what: 'the replica to be in sync' })
      await primary.kill()
      await replica.command('REPLICAOF', 'NO', 'ONE')
      door.leadTo(replica)
      await Promise.all(
        limiters.map(async (limiter, i) => {
          const name = Object.keys(POLICIES)[i]
          const decisions = await many(limiter)
          const switched = performance.now()
          // A fixed window may end in their midst.
          const most = name === 'fixed window' ? 2 * LIMIT : LIMIT + 2
          expect(decisions.filter(({ allowed }) => allowed).length, name).toBeLessThanOrEqual(most)
          for (const { remaining, retryAfter } of decisions) {
            expect(remaining, name).toBeGreaterThanOrEqual(0)
            expect(retryAfter ?? 0, name).toBeGreaterThanOrEqual(0)
            // A counter looks back on the window before, too.
            expect(retryAfter ?? 0, name).toBeLessThanOrEqual(name === 'sliding counter' ? 2 * PER : PER)
          }
          while (!(await limiter.take('u')).allowed) await sleep(20)
          expect(performance.now() - switched, name).toBeLessThan(2 * PER + 1_000)
        }),
      )
    },
  )
})

describe.skipIf(!possible)('a clock is set', () => {
  test('27: forward beyond a lease: its holder is told with the next answer; back: it is held on', async () => {
    const { server, clock } = await shifted(0)
    const jumps: number[] = []
    ends.push(listen('holdfast:store:clock-jump', ({ jumpMs }) => jumps.push(jumpMs)))
    const hf = await openAt(server.url)
    const kept = await hf.lock('kept', { ttl: '60s' }).acquire()
    const cut = await hf.lock('cut', { ttl: '10s', renew: false }).acquire()
    clock.set(-20_000)
    await kept.extend('60s')
    expect([cut.lost, kept.lost]).toEqual([null, null])
    clock.set(20_000)
    // What is left of one is longer than the step; the other one is over on the server.
    await kept.extend('60s')
    expect(cut.lost).toBe('expired')
    expect(() => cut.assertHeld()).toThrow()
    expect(kept.lost).toBeNull()
    const next = await hf.lock('cut').acquire()
    expect(next.fence).toBeGreaterThan(cut.fence)
    expect(jumps.map((jump) => Math.round(jump / 1_000))).toEqual([-20, 40])
    await Promise.all([kept.release(), next.release()])
  })
})

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { clientKinds } from '../../src/clients.ts'
import { sleep, startRedis, type RedisServer } from '../../src/index.ts'
import { Scene } from '../support/scene.ts'

/**
 * Goal: one lock object can be used by any number of callers at once, each with its own lease.
 * Method: two callers with very different ttl, in both orders, looked at on the server and at the holder.
 */

const SHORT = 600
const LONG = 60_000

let server: RedisServer
let scene: Scene

beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())
afterEach(() => scene.end())

describe.each(clientKinds)('%s', (kind) => {
  test.each([
    [SHORT, LONG],
    [LONG, SHORT],
  ])('A9: two callers of one lock object with ttl %i and %i: each has its own', async (first, second) => {
    scene = await Scene.open(server, { kind })
    const lock = scene.hf.lock('a', { ttl: 5_000 })
    const got: number[] = []
    const owners = new Set<string>()
    const fences: bigint[] = []
    const use = async (ttl: number): Promise<void> => {
      const held = await lock.acquire({ ttl, wait: '10s' })
      got.push(ttl)
      owners.add(held.owner)
      fences.push(held.fence)
      // Long enough for the short lease to be renewed, to its own length.
      for (const pause of [0, SHORT]) {
        await sleep(pause)
        const left = await scene.left('a')
        expect(left).toBeLessThanOrEqual(ttl)
        expect(left).toBeGreaterThan(ttl === LONG ? LONG / 2 : 0)
        expect(held.remaining()).toBeLessThanOrEqual(ttl)
        expect(held.remaining()).toBeGreaterThan(ttl === LONG ? LONG / 2 : 0)
        expect(await scene.owner('a')).toBe(held.owner)
      }
      expect(await held.release()).toEqual({ released: true, confirmed: true })
    }
    await Promise.all([use(first), use(second)])
    expect(got).toEqual([first, second])
    expect(owners.size).toBe(2)
    expect(fences[1]).toBeGreaterThan(fences[0] as bigint)
  })

  test('A9: of many callers at once, one at a time holds', async () => {
    scene = await Scene.open(server, { kind })
    const lock = scene.hf.lock('a')
    const tries = await Promise.all(Array.from({ length: 20 }, () => lock.tryAcquire()))
    const holders = tries.filter((held) => held !== null)
    expect(holders).toHaveLength(1)
    expect(await scene.owner('a')).toBe(holders[0]?.owner)
    await holders[0]?.release()
    let inside = 0
    let most = 0
    const work = async (): Promise<void> => {
      most = Math.max(most, (inside += 1))
      await sleep(2)
      inside -= 1
    }
    await Promise.all(Array.from({ length: 20 }, () => lock.run(work)))
    expect(most).toBe(1)
  })
})

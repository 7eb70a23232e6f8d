import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { clientKinds } from '../../src/clients.ts'
import { startRedis, waitFor, type RedisServer } from '../../src/index.ts'
import { Judged } from '../support/judged.ts'
import { Scene } from '../support/scene.ts'

/**
 * Goal: replies may be lost at any time: every call ends, nobody holds twice, fences rise, and no key is left.
 * Method: every tenth script call is done, its reply discarded and its connection reset, over 500 cycles of two processes on
 * one name and three names of their own.
 */

const CYCLES = 500
const NAMES = ['shared', 'a', 'b', 'c']

let server: RedisServer
let scene: Scene

beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())
afterEach(() => scene.end())

describe.each(clientKinds)('%s', (kind) => {
  test('fault 28, 29: every tenth reply is dropped over 500 cycles', async () => {
    scene = await Scene.open(server, { kind, budget: 5_000 })
    const processes = [scene.hf, await scene.another({ viaProxy: true })]
    let calls = 0
    let dropped = 0
    scene.proxy.onCommand(({ name }) => {
      if (!name.startsWith('EVAL') || (calls += 1) % 10 !== 0) return 'pass'
      dropped += 1
      return 'lose-reply'
    })
    const judged = new Judged()
    const about = { ttl: 10_000, wait: 10_000, budget: scene.budget }
    let cycles = 0
    const failed: unknown[] = []
    const users = processes.flatMap((hf, p) =>
      NAMES.map(async (name) => {
        const lock = judged.lock(hf, { name: name === 'shared' ? name : `${name}${p}`, ...about })
        let last = 0n
        while (cycles < CYCLES) {
          cycles += 1
          try {
            const hold = await lock.acquire()
            const { fence } = hold.held
            if (fence <= last) failed.push(`${name}: fence ${fence} after ${last}`)
            last = fence
            await hold.release()
          } catch (error) {
            failed.push(error)
          }
        }
      }),
    )
    await Promise.all(users)
    // With a wait of ten seconds, a lost reply costs time and nothing else.
    expect(failed).toEqual([])
    // Calls of one turn travel together, so there are fewer than two for each cycle.
    expect(dropped).toBeGreaterThan(CYCLES / 20)
    // A call whose copy came after its caller had left stands in the queue until that expires, 30 s later.
    let left: string[] = []
    await waitFor(async () => (left = await scene.keys()).length === 0, {
      what: () => `no key to be left, but there are ${left.join(', ')}`,
      within: 40_000,
    })
    const counted = judged.expectRight()
    expect(counted.acquires.granted).toBeGreaterThanOrEqual(CYCLES)
    expect(counted.overlaps.count).toBe(0)
  })
})

import type { Held, Holdfast } from 'holdfast'
import { seededRandomness } from 'holdfast/testing'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFailed, test } from 'vitest'
import { clientKinds } from '../../src/clients.ts'
import { sleep, startRedis, waitFor, type RedisServer } from '../../src/index.ts'
import { Scene } from '../support/scene.ts'

/**
 * Goal: no key of ours is ever without an expiry, whatever a dying connection cuts off.
 * Method: two processes take, prolong, wait for and give back a few names, while the proxy resets connections by a seeded
 * die: before a command, or after it was done. All keys of the server are looked at all the while, in one atomic step.
 */

const KEYS_WITHOUT_EXPIRY = `
  local found = {}
  for _, key in ipairs(redis.call('KEYS', '*')) do
    if redis.call('PTTL', key) == -1 then found[#found + 1] = key end
  end
  return found`
const ROUNDS = 6
const ROUND_MS = 400
const NAMES = ['a', 'b', 'c']

let server: RedisServer
let scene: Scene

beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())
afterEach(() => scene.end())

/** Uses the locks in all ways until it is told to stop. */
async function use(hf: Holdfast, fraction: () => number, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const name = NAMES[Math.floor(fraction() * NAMES.length)] as string
    const lock = hf.lock(name, { ttl: 100 + Math.floor(fraction() * 900), wait: 100, renew: false })
    const held: Held | null = await (fraction() < 0.5 ? lock.tryAcquire() : lock.acquire()).catch(() => null)
    if (held === null) {
      await sleep(1)
      continue
    }
    if (fraction() < 0.3) await held.extend(500).catch(() => {})
    if (fraction() < 0.8) await held.release().catch(() => {})
  }
}

describe.each(clientKinds)('%s', (kind) => {
  test('A6: no key without an expiry, over a storm of resets before and after commands', async () => {
    scene = await Scene.open(server, { kind, budget: 300 })
    const processes = [scene.hf, await scene.another({ viaProxy: true })]
    const { fraction } = seededRandomness(6)
    let resets = 0
    let looks = 0
    let mostKeys = 0
    const queues = new Set<string>()
    const look = async (): Promise<void> => {
      expect(await server.command('EVAL', KEYS_WITHOUT_EXPIRY, '0')).toEqual([])
      const keys = await scene.keys()
      for (const key of keys) if (key.endsWith(':queue')) queues.add(key)
      mostKeys = Math.max(mostKeys, keys.length)
      looks += 1
    }
    let over = false
    const users: Promise<void>[] = []
    onTestFailed(() => {
      over = true
    })
    for (let round = 0; round < ROUNDS; round += 1) {
      const calm = scene.proxy.onCommand(() => {
        const die = fraction()
        if (die > 0.15) return 'pass'
        resets += 1
        return die < 0.07 ? 'reset' : 'lose-reply'
      })
      over = false
      users.push(...processes.map((hf) => use(hf, fraction, () => over)))
      const end = performance.now() + ROUND_MS
      while (performance.now() < end) {
        await look()
        await sleep(2)
      }
      over = true
      calm()
      await Promise.all(users.splice(0))
      await look()
    }
    // The storm was one, and there was something to look at.
    expect(resets).toBeGreaterThan(ROUNDS * 3)
    expect(looks).toBeGreaterThan(ROUNDS * 3)
    expect(mostKeys).toBeGreaterThan(0)
    expect(queues.size).toBeGreaterThan(0)
    await waitFor(async () => (await scene.keys()).every((key) => key.endsWith(':queue')), {
      what: 'all locks to be given back or to end',
    })
  })
})

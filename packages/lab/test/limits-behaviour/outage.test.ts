import { randomUUID } from 'node:crypto'
import {
  slidingWindow,
  StoreRefusedError,
  StoreUnavailableError,
  type Decision,
  type Limiter,
} from 'holdfast'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { clientFamilies } from '../../src/clients.ts'
import { faults, startRedis, waitFor, type RedisServer } from '../../src/index.ts'
import { Scene } from '../support/scene.ts'
import { settle, SLACK_MS } from '../support/settling.ts'

/**
 * Goal: a limiter whose server is down answers within its budget, as its caller chose, and goes back to the server by itself.
 * Method: each outage that a single server can have, brought about for real, over both client families.
 */

const BUDGET = 200
const OUTAGES = {
  SIGSTOP: faults.frozen,
  READONLY: faults.readOnly,
  OOM: faults.oom,
  LOADING: faults.loading,
  'a killed server': async (server: RedisServer) => {
    await server.kill()
    return async () => server.start()
  },
}

let server: RedisServer
let scene: Scene
let undo: (() => Promise<void>) | null = null

beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())
beforeEach(() => {
  undo = null
})
afterEach(async () => {
  await undo?.()
  await scene.end()
})

describe.each(clientFamilies)('%s', (kind) => {
  test.each(Object.entries(OUTAGES))(
    'E2, E23: %s: typed, within the budget, as chosen; then the server again',
    async (name, outage) => {
      scene = await Scene.open(server, { kind })
      const policy = slidingWindow({ limit: 3, per: '1h' })
      const limiter = (onStoreError: 'throw' | 'deny' | 'allow' | 'local') =>
        scene.hf.limiter(onStoreError, policy, { onStoreError, budget: BUDGET, rememberFor: 0 })
      const all = [limiter('throw'), limiter('deny'), limiter('allow'), limiter('local')] as const
      const [throwing, denying, allowing, local] = all
      for (const each of all) await served(each)

      undo = await outage(server)
      const within = async (take: Promise<Decision>) => {
        const { ms, value, error } = await settle(take)
        expect(ms).toBeLessThan(BUDGET + SLACK_MS)
        return { value, error }
      }
      const { error } = await within(throwing.take('u'))
      expect(error instanceof StoreUnavailableError || error instanceof StoreRefusedError, name).toBe(true)
      for (let i = 0; i < 4; i += 1) {
        expect(await within(denying.take('u'))).toMatchObject({
          value: { allowed: false, source: 'unavailable' },
        })
        expect(await within(allowing.take('u'))).toMatchObject({
          value: { allowed: true, source: 'unavailable' },
        })
        expect(await within(local.take('v'))).toMatchObject({ value: { allowed: i < 3, source: 'local' } })
      }

      await undo()
      undo = null
      for (const each of all) await served(each)
    },
  )
})

/** Until the server decides, of a subject that is new each time. A busy machine may need more than the budget, now and then. */
async function served(limiter: Limiter): Promise<void> {
  const decided = async (): Promise<boolean> => {
    const decision = await limiter.take(randomUUID()).catch(() => null)
    return decision?.source === 'store' && decision.allowed
  }
  // ioredis looks again at a server that was loading after ten seconds.
  await waitFor(decided, { what: 'the server to decide', within: 30_000 })
}

test('E25: a thousand calls at once at a limit of five admit five', async () => {
  scene = await Scene.open(server)
  const policy = slidingWindow({ limit: 5, per: '1h' })
  const others = [await scene.another(), await scene.another()]
  const limiters = [scene.hf, ...others].map((hf) => hf.limiter('api', policy, { budget: '5s' }))
  const decisions = await Promise.all(
    Array.from({ length: 1_000 }, (_, i) => (limiters[i % 3] as (typeof limiters)[0]).take('u')),
  )
  expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(5)
})

test('E28: waiting over a real server: in order, and nobody before there is room', async () => {
  scene = await Scene.open(server)
  const limiter = scene.hf.limiter('api', slidingWindow({ limit: 2, per: '300ms' }), { budget: '5s' })
  const [order, began] = [[] as number[], performance.now()]
  await Promise.all(
    Array.from({ length: 6 }, (_, i) => limiter.waitFor('u', { wait: '10s' }).then(() => order.push(i))),
  )
  expect(order).toEqual([0, 1, 2, 3, 4, 5])
  expect(performance.now() - began).toBeGreaterThanOrEqual(600)
})

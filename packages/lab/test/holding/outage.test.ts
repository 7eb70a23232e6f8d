import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { clientKinds } from '../../src/clients.ts'
import { sleep, spawnWorker, startRedis, waitFor, type RedisServer, type Worker } from '../../src/index.ts'
import type { Belief } from '../../src/workers/holder.ts'

/**
 * Goal: an outage of the server ends no process, a short one loses no lock, a long one is told once, at the local deadline.
 * Method: a holder for each client, in a process of its own that dies of any unhandled rejection; their server is frozen,
 * or killed and started again.
 */

const HOLDER = new URL('../../src/workers/holder.ts', import.meta.url)
const STRICT = { env: { NODE_OPTIONS: '--unhandled-rejections=strict' } }
/** For what is promised at once or within 50 ms; the machine is shared. */
const SLACK_MS = 500
const TTL = 1_500

interface Loss {
  readonly owner: string
  readonly reason: string
  readonly at: number
}

interface Holder {
  readonly worker: Worker
  readonly id: number
  readonly owner: string
}

let server: RedisServer
let workers: Worker[] = []
let locks = 0

beforeAll(async () => {
  server = await startRedis()
  workers = await Promise.all(clientKinds.map(() => spawnWorker(HOLDER, STRICT)))
  const open = (worker: Worker, i: number) =>
    worker.call('open', { redis: server.url, client: clientKinds[i] }, { prefix: 'outage:v1' })
  await Promise.all(workers.map(open))
})
afterAll(async () => {
  await Promise.all(workers.map((worker) => worker.kill()))
  await server.stop()
})

/** A lock in each process. */
function acquireEach(ttl: number): Promise<Holder[]> {
  const acquiring = workers.map(async (worker) => {
    const granted = await worker.call<{ id: number; owner: string }>('acquire', `lock ${(locks += 1)}`, {
      ttl,
    })
    return { worker, ...granted }
  })
  return Promise.all(acquiring)
}

function lossesOf({ worker, owner }: Holder): Loss[] {
  const losses = worker.events.filter(({ event }) => event === 'lost')
  return losses.map(({ data }) => data as unknown as Loss).filter((loss) => loss.owner === owner)
}

const beliefOf = ({ worker, id }: Holder): Promise<Belief> => worker.call('belief', id)

/** The holder's own deadline, while no renewal moves it any more. */
async function deadlineOf(holder: Holder): Promise<number> {
  const { at, remaining } = await beliefOf(holder)
  return at + remaining
}

/** It was told once, at its deadline, and says so. */
async function expectOneLoss(holder: Holder, deadline: number): Promise<void> {
  expect(lossesOf(holder)).toMatchObject([{ reason: 'unreachable' }])
  const [loss] = lossesOf(holder) as [Loss]
  expect(loss.at).toBeGreaterThanOrEqual(deadline - 1)
  expect(loss.at).toBeLessThan(deadline + SLACK_MS)
  expect(await beliefOf(holder)).toMatchObject({ lost: 'unreachable', aborted: true, asserts: false })
  expectAlive(holder)
}

function expectAlive({ worker }: Holder): void {
  expect([worker.running, worker.stderr]).toEqual([true, ''])
}

describe('C4: the server is', () => {
  test('frozen for half a ttl: still held, no loss, the processes live', async () => {
    const holders = await acquireEach(3_000)
    await sleep(200)
    await server.pause()
    await sleep(1_500)
    server.resume()
    await sleep(3_000)
    for (const holder of holders) {
      expect(await beliefOf(holder)).toMatchObject({ lost: null, aborted: false, asserts: true })
      expect(lossesOf(holder)).toEqual([])
      expectAlive(holder)
    }
  })

  test('frozen for one ttl: one loss, at the local deadline, with the server still frozen', async () => {
    const holders = await acquireEach(TTL)
    await sleep(200)
    await server.pause()
    const deadlines = await Promise.all(holders.map(deadlineOf))
    const allTold = () => holders.every((holder) => lossesOf(holder).length > 0)
    await waitFor(allTold, { what: 'the losses', within: TTL + SLACK_MS })
    server.resume()
    await sleep(TTL)
    for (const [i, holder] of holders.entries()) await expectOneLoss(holder, deadlines[i] as number)
  })

  test('killed and away for three ttl: one loss, at the local deadline, with the server still dead', async () => {
    const holders = await acquireEach(TTL)
    await sleep(200)
    await server.kill()
    const deadlines = await Promise.all(holders.map(deadlineOf))
    await sleep(3 * TTL)
    for (const [i, holder] of holders.entries()) await expectOneLoss(holder, deadlines[i] as number)
    await server.restart()
    await sleep(500)
    for (const holder of holders) expect(lossesOf(holder)).toHaveLength(1)
    // The processes go on, and so do their locks.
    const again = await acquireEach(TTL)
    await sleep(TTL)
    for (const { worker, id } of again)
      expect(await worker.call('release', id)).toMatchObject({ released: true })
  })
})

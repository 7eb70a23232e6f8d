import type { Belief } from '../../src/workers/holder.ts'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { clientKinds } from '../../src/clients.ts'
import { sleep, spawnWorker, startRedis, waitFor, type RedisServer, type Worker } from '../../src/index.ts'

/**
 * Goal: an outage of the server ends no process, a short one loses no lock, a long one is told once, at the local deadline.
 * Method: the holder is a process of its own that dies of any unhandled rejection; its server is frozen, or killed and
 * started again.
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

let server: RedisServer
let worker: Worker

beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())
afterEach(() => worker.kill())

/** A process that holds `a`. */
async function holder(client: string, ttl = TTL): Promise<{ id: number; owner: string }> {
  worker = await spawnWorker(HOLDER, STRICT)
  await worker.call('open', { redis: server.url, client }, { prefix: 'outage:v1' })
  return worker.call('acquire', `${client} ${ttl} ${performance.now()}`, { ttl })
}

const losses = (): Loss[] =>
  worker.events.filter(({ event }) => event === 'lost').map(({ data }) => data as unknown as Loss)

/** The holder's own deadline, if no renewal moves it any more. */
async function deadlineOf(id: number): Promise<number> {
  const { at, remaining } = await worker.call<Belief>('belief', id)
  return at + remaining
}

describe.each(clientKinds)('%s', (client) => {
  test('C4: frozen for half a ttl: still held, no loss, the process lives', async () => {
    const { id } = await holder(client, 3_000)
    await sleep(200)
    await server.pause()
    await sleep(1_500)
    server.resume()
    await sleep(3_000)
    expect(await worker.call('belief', id)).toMatchObject({ lost: null, aborted: false, asserts: true })
    expect([losses(), worker.stderr]).toEqual([[], ''])
  })

  test('C4: frozen for one ttl: one loss, at the local deadline, with the server still frozen', async () => {
    const { id, owner } = await holder(client)
    await sleep(200)
    await server.pause()
    const deadline = await deadlineOf(id)
    await waitFor(() => losses().length > 0, { what: 'the loss', within: TTL + SLACK_MS })
    server.resume()
    await sleep(TTL)
    expect(losses()).toMatchObject([{ owner, reason: 'unreachable' }])
    const [loss] = losses() as [Loss]
    expect(loss.at).toBeGreaterThanOrEqual(deadline - 1)
    expect(loss.at).toBeLessThan(deadline + SLACK_MS)
    expect(await worker.call('belief', id)).toMatchObject({
      lost: 'unreachable',
      aborted: true,
      asserts: false,
    })
    expect(worker.stderr).toBe('')
  })

  test('C4: killed and away for three ttl: one loss, at the local deadline, with the server still dead', async () => {
    const { id, owner } = await holder(client)
    await sleep(200)
    await server.kill()
    const deadline = await deadlineOf(id)
    await sleep(3 * TTL)
    expect(losses()).toMatchObject([{ owner, reason: 'unreachable' }])
    const [loss] = losses() as [Loss]
    expect(loss.at).toBeGreaterThanOrEqual(deadline - 1)
    expect(loss.at).toBeLessThan(deadline + SLACK_MS)
    await server.restart()
    await sleep(500)
    expect(losses()).toHaveLength(1)
    expect([worker.running, worker.stderr]).toEqual([true, ''])
    // The process goes on, and so do its locks.
    const again = await worker.call<{ id: number }>('acquire', 'afterwards', { ttl: TTL })
    await sleep(TTL)
    expect(await worker.call('release', again.id)).toMatchObject({ released: true })
  })
})

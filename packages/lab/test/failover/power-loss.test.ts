import { createHoldfast, type Holdfast } from 'holdfast'
import { redisStore, type RedisStoreOptions } from 'holdfast/redis'
import { readdirSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { connectClient } from '../../src/clients.ts'
import { startRedis, waitFor, type RedisServer } from '../../src/index.ts'

/**
 * Goal: a machine that loses power loses the last moments of its append-only file. Without `reopenDelay` the lock that was granted in them is
 * granted again, under a higher fence; with it, only when the first lease is over. A process that is killed loses nothing.
 * Method: the server is killed, and its file cut to what it was before the grant.
 */

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

async function start(): Promise<RedisServer> {
  const server = await startRedis({ appendonly: true })
  ends.push(() => server.stop())
  return server
}

async function open(server: RedisServer, options: RedisStoreOptions = {}): Promise<Holdfast> {
  const { client, close } = await connectClient('ioredis', server.url)
  const hf = createHoldfast({ store: redisStore(client, options), budget: 600 })
  ends.push(async () => {
    await hf.close()
    close()
  })
  return hf
}

/** The file that commands are appended to. */
function fileOf({ dir }: RedisServer): string {
  const files = readdirSync(dir, { recursive: true }).map(String)
  const file = files.find((name) => name.endsWith('.incr.aof')) ?? files.find((name) => name.endsWith('.aof'))
  if (file === undefined) throw new Error(`there is no append-only file among ${files.join(', ')}`)
  return join(dir, file)
}

const length = (server: RedisServer): number => statSync(fileOf(server)).size

/** What was written since then is gone, the last of it in its midst. */
async function losePower(server: RedisServer, before: number): Promise<void> {
  await waitFor(() => length(server) > before + 20, { what: 'the grant to be written' })
  await server.kill()
  truncateSync(fileOf(server), before + 20)
  await server.restart()
}

describe('14: power is lost right after a grant', () => {
  test('plain: it is granted again while the first lease lasts, under a higher fence', async () => {
    const server = await start()
    const hf = await open(server)
    await (await hf.lock('warm').acquire()).release()
    const before = length(server)
    const held = await hf.lock('a', { ttl: '20s', renew: false }).acquire()
    await losePower(server, before)
    const next = await hf.lock('a').acquire({ wait: '5s' })
    expect(next.fence).toBeGreaterThan(held.fence)
  })

  test('with reopenDelay: not before the first lease is over', async () => {
    const server = await start()
    const hf = await open(server, { reopenDelay: '2s' })
    const lock = hf.lock('a', { ttl: '2s', renew: false })
    await (await lock.acquire({ wait: '10s' })).release()
    const before = length(server)
    const held = await lock.acquire()
    const ends = performance.now() + held.remaining()
    await losePower(server, before)
    const next = await lock.acquire({ wait: '10s' })
    expect(performance.now()).toBeGreaterThan(ends)
    expect(next.fence).toBeGreaterThan(held.fence)
  })

  test('13: killed only, it has lost nothing', async () => {
    const server = await start()
    const hf = await open(server)
    const held = await hf.lock('a', { ttl: '20s' }).acquire()
    await server.kill()
    await server.restart()
    expect(await (await open(server)).lock('a').tryAcquire()).toBeNull()
    expect((await held.release()).released).toBe(true)
  })
})

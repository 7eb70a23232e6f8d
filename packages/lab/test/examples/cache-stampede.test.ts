import { Redis } from 'ioredis'
import http from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startRedis, waitFor, type RedisServer } from '../../src/index.ts'
import { programsOf, startInstance, type Instance } from './support.ts'

/**
 * Goal: W7. Of 1 000 readers in 4 processes who miss at once, one makes the value; of the naive ones, hundreds.
 * Method: four instances, each a process, share one Redis; a value takes long enough that all readers come meanwhile.
 */

const READERS = 1_000
const LOAD_MS = 2_500

let redis: RedisServer
let instances: Instance[]

beforeAll(async () => {
  redis = await startRedis()
  const env = { REDIS_URL: redis.url, LOAD: String(LOAD_MS), FRESH: '60000' }
  instances = await Promise.all([0, 1, 2, 3].map(() => startInstance('cache-stampede', 'server.ts', { env })))
})
afterAll(async () => {
  await Promise.all(instances.map(({ process }) => process.end()))
  await redis.stop()
})

const agent = new http.Agent({ keepAlive: true, maxSockets: 300 })
afterAll(() => agent.destroy())

function get(path: string, n: number): Promise<string> {
  const { url } = instances[n % instances.length] as Instance
  return new Promise((resolve, reject) => {
    http
      .get(new URL(path, url), { agent }, (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (part: string) => (text += part))
        response.on('end', () => resolve(`${response.statusCode} ${text.trim()}`))
      })
      .on('error', reject)
  })
}

const readers = (path: string) => Promise.all(Array.from({ length: READERS }, (_, n) => get(path, n)))
const made = async (name: string) => Number((await get(`/made/${name}`, 0)).replace('200 ', ''))

test('W7: the naive cache makes it hundreds of times', async () => {
  await readers('/naive/price')
  expect(await made('price')).toBeGreaterThan(READERS / 4)
})

test('W7: one makes it, and all the others wait for it', async () => {
  expect(new Set(await readers('/wait/price'))).toEqual(new Set(['200 wait-price number 1']))
  expect(await made('wait-price')).toBe(1)
})

test('W7: with an old value at hand one makes it, and nobody waits', async () => {
  expect(await get('/stale/price', 0)).toBe('200 stale-price number 1')
  const client = new Redis(redis.url)
  // It has just expired.
  const entry = { value: 'old', freshUntil: 0 }
  await client.set('cache:stale-price', JSON.stringify(entry), 'PX', 60_000)
  // The value is made while they read: they have all been answered with the old one.
  expect(new Set(await readers('/stale/price'))).toEqual(new Set(['200 old']))
  await waitFor(async () => (await get('/stale/price', 1)) === '200 stale-price number 2', {
    what: 'the new value',
  })
  expect(await made('stale-price')).toBe(2)
  client.disconnect()
})

test('a process that dies while it makes the value is followed by another', async () => {
  const [victim] = instances as [Instance]
  const doomed = get('/wait/other', 0).catch(() => 'dead')
  await waitFor(async () => (await get('/made/wait-other', 1)) === '200 1', { what: 'it to be made' })
  await victim.process.kill()
  expect(await doomed).toBe('dead')
  instances = instances.slice(1)
  const client = new Redis(redis.url)
  // What ten seconds would do.
  const [lock] = await client.keys('*other*:lock')
  expect(lock).toBeDefined()
  await client.pexpire(lock as string, 50)
  client.disconnect()
  expect(await get('/wait/other', 0)).toBe('200 wait-other number 2')
})

test('the README names every program', () => {
  const { named, there } = programsOf('cache-stampede')
  expect(named).toEqual(there)
})

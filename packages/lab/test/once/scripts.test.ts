import { createHoldfast, finalError } from 'holdfast'
import { redisStore } from 'holdfast/redis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectClient } from '../../src/clients.ts'
import { startProxy, startRedis, type RedisServer } from '../../src/index.ts'

/**
 * Goal: what lies on the server is what the protocol says, always with an expiry; calls cost the round trips that are promised,
 * and touch the keys that they declare.
 */

let server: RedisServer

beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())

async function open(prefix: string) {
  const proxy = await startProxy({ target: server, record: true })
  const client = await connectClient('ioredis', proxy.url)
  const hf = createHoldfast({ store: redisStore(client.client), prefix })
  const end = async (): Promise<void> => {
    await hf.close()
    client.close()
    await proxy.close()
  }
  return { hf, proxy, end }
}

/** Keys of the script calls that went over the proxy. */
const keysOf = (log: readonly { readonly command: readonly string[] }[]): string[] =>
  log.flatMap(({ command: [name = '', , count = '0', ...rest] }) =>
    /^EVAL(SHA)?$/i.test(name) ? rest.slice(0, Number(count)) : [],
  )

test('a new key costs two commands, a replay one, and all of them touch the one key of its address', async () => {
  const { hf, proxy, end } = await open('costs:v1')
  const payments = hf.idempotency('pay|ments')
  const warm = { key: 'warm-up', scope: 'global' }
  await payments.run(warm, undefined, () => 1)
  proxy.resetCounts()
  const before = proxy.log.length
  const ask = { key: 'k{1}', scope: 'user 1' }
  expect((await payments.run(ask, { fingerprint: 'body' }, () => 'é')).value).toBe('é')
  expect(proxy.log.length - before).toBe(2)
  expect((await payments.run(ask, { fingerprint: 'body' }, () => 'no')).value).toBe('é')
  expect(proxy.log.length - before).toBe(3)
  const key = 'costs:v1:{pay%7Cments|user%201|k%7B1%7D}:once'
  expect(new Set(keysOf(proxy.log.slice(before)))).toEqual(new Set([key]))
  const value = (await server.command('GET', key)) as string
  expect(value).toMatch(/^done [\w-]{22}@\S+ 1 \d{13} 0 [\w-]{43} value\n"é"$/)
  const left = (await server.command('PTTL', key)) as number
  expect(left).toBeGreaterThan(86_000_000)
  await end()
})

test('every path keeps an expiry on every key, and an error frees what it should', async () => {
  const { hf, end } = await open('paths:v1')
  const payments = hf.idempotency('payments', { lease: 50, onAbandoned: 'retry', maxBytes: 20 })
  const run = (key: string, work: () => unknown) =>
    payments.run({ key, scope: 'global' }, undefined, work).catch((error: unknown) => error)
  await run('value', () => 1)
  await run('large', () => 'x'.repeat(100))
  await run('final', () => Promise.reject(finalError(new Error('no'))))
  await run('freed', () => Promise.reject(new Error('no')))
  await run('renewed', () => new Promise((resolve) => setTimeout(resolve, 200)))
  const keys = (await server.command('KEYS', 'paths:v1:*')) as string[]
  expect(keys.map((key) => key.split('|')[2]).sort()).toEqual(
    ['final', 'large', 'renewed', 'value'].map((key) => `${key}}:once`),
  )
  for (const key of keys) expect(Number(await server.command('PTTL', key))).toBeGreaterThan(0)
  await end()
})

test('F9: a thousand calls of one key in one process cost no more than ten commands', async () => {
  const { hf, proxy, end } = await open('flight:v1')
  const payments = hf.idempotency('payments')
  await payments.run({ key: 'warm-up', scope: 'global' }, undefined, () => 1)
  const before = proxy.log.length
  let ran = 0
  const calls = Array.from({ length: 1_000 }, () =>
    payments.run({ key: 'one', scope: 'global' }, { wait: '10s' }, () => (ran += 1)),
  )
  expect((await Promise.all(calls)).every(({ value }) => value === 1)).toBe(true)
  expect(ran).toBe(1)
  expect(proxy.log.length - before).toBeLessThanOrEqual(10)
  await end()
})

test('something else under the key is refused by name, and left as it is', async () => {
  const { hf, end } = await open('foreign:v1')
  const payments = hf.idempotency('payments')
  await server.command('RPUSH', 'foreign:v1:{payments|global|list}:once', 'theirs')
  await server.command('SET', 'foreign:v1:{payments|global|text}:once', 'theirs')
  for (const key of ['list', 'text']) {
    const refused = payments.run({ key, scope: 'global' }, undefined, () => 1)
    await expect(refused).rejects.toMatchObject({ code: 'STORE_REFUSED', details: { reason: 'WRONGTYPE' } })
  }
  expect(await server.command('GET', 'foreign:v1:{payments|global|text}:once')).toBe('theirs')
  await end()
})

/**
 * How long the server works on a decision, by its own count (INFO commandstats), for limits from 100 to 1 000 000, each window
 * full. Blocks of the same length take turns, so that a busy machine slows all of them alike. Not a test: times on a shared
 * machine prove nothing.
 *
 *     node --import ./build/register.mjs packages/lab/test/limits/server-time.ts [takes per call]
 */

import { systemClock, systemRandomness } from 'holdfast/testing'
import { redisStore } from 'holdfast/redis'
import { limitAddress } from '../../../holdfast/src/name.ts'
import { Attempt } from '../../../holdfast/src/store/attempt.ts'
import type { LimitStore } from '../../../holdfast/src/store/limit/contract.ts'
import type { Policy, SlidingWindow } from '../../../holdfast/src/store/limit/policy.ts'
import { connectClient } from '../../src/clients.ts'
import { startRedis, type RedisServer } from '../../src/index.ts'

const ROUNDS = 40
const TAKES_PER_ROUND = 320

/** Each window lets one hit go in every millisecond. */
const windows = [100, 10_000, 1_000_000].map((limit): SlidingWindow => ({
  kind: 'sliding-window',
  name: `window of ${limit}`,
  limit,
  per: limit,
}))
const policies: readonly Policy[] = [
  ...windows,
  { kind: 'token-bucket', name: 'bucket of 100', capacity: 100, refill: 1, per: 1 },
  { kind: 'token-bucket', name: 'bucket of 1000000', capacity: 1_000_000, refill: 1, per: 1 },
]

const perCall = Number(process.argv[2] ?? 1)
const server = await startRedis()
const client = await connectClient('ioredis', server.url)
const prefixes = ['time:v1']
const { limits } = redisStore(client.client).open({
  clock: systemClock,
  randomness: systemRandomness,
  prefixes,
})

const micros = new Map<string, number[]>()
for (let round = 0; round < ROUNDS; round += 1) {
  for (const policy of policies) {
    const address = limitAddress('time:v1', 'limiter', policy.name)
    if (policy.kind === 'sliding-window')
      await fill(server, `${address.key}:${encodeURI(policy.name)}`, policy)
    await server.command('CONFIG', 'RESETSTAT')
    for (let n = 0; n < TAKES_PER_ROUND; n += perCall) await takes(limits, policy, perCall)
    const stat = (await server.info('commandstats'))['cmdstat_evalsha'] ?? ''
    const usec = Number(/usec=(\d+)/.exec(stat)?.[1])
    micros.set(policy.name, [...(micros.get(policy.name) ?? []), usec / TAKES_PER_ROUND])
  }
}
client.close()
await server.stop()

const medians = new Map(
  [...micros].map(([name, all]) => [name, all.sort((a, b) => a - b)[ROUNDS >> 1] ?? NaN]),
)
for (const [name, median] of medians)
  process.stdout.write(`${name.padEnd(20)} ${median.toFixed(1)} µs a decision\n`)
const ratio = (medians.get('window of 1000000') ?? NaN) / (medians.get('window of 100') ?? NaN)
process.stdout.write(`window of 1000000 : window of 100 = ${ratio.toFixed(2)}\n`)

/** Fills a ring with a hit for each of the last `limit` milliseconds, as the scripts keep it. */
async function fill(redis: RedisServer, key: string, { limit, per }: SlidingWindow): Promise<void> {
  const [seconds, micros] = (await redis.command('TIME')) as [string, string]
  const now = Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000)
  const entries = limit - 1
  const ring = Buffer.alloc(38 + 8 * entries)
  ring.write('w')
  ring.writeUInt8(8, 1)
  for (const [at, number] of [
    [2, now],
    [8, 1],
    [14, limit],
    [20, now - entries],
  ] as const)
    ring.writeUIntBE(number, at, 6)
  ring.writeUInt32BE(entries, 26)
  ring.writeUInt32BE(entries, 34)
  for (let n = 0; n < entries; n += 1) {
    ring.writeUIntBE(now - entries + n, 38 + 8 * n, 6)
    ring.writeUInt16BE(1, 44 + 8 * n)
  }
  await redis.command('SET', key, ring, 'PX', per)
}

async function takes(store: LimitStore, policy: Policy, count: number): Promise<void> {
  const until = systemClock.monotonic() + 5_000
  const address = limitAddress('time:v1', 'limiter', policy.name)
  await Promise.all(
    Array.from({ length: count }, () => {
      const id = systemRandomness.id(22)
      const ask = { address, policies: [policy], cost: 1, id, countDenied: false, returnAfter: null }
      return store.take(ask, new Attempt(until, until))
    }),
  )
}

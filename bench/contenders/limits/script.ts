import { createHash } from 'node:crypto'
import { connectIoredis, type Ioredis } from '../packages.ts'
import type { Limiter, LimiterKind, LimitSpec, OpenLimiterOptions } from './limiter.ts'

/**
 * The floor: what one writes by hand, a script for each algorithm and a call of it for each decision and limit. By the
 * server's clock, with an expiry, and with what a caller has to tell its own: how much is left, and when to come again.
 */

/** A bucket in one string: how many tokens there were, and when. A hash for that takes longer. */
const BUCKET = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local capacity, perMs, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local tokens = capacity
local state = redis.call('GET', KEYS[1])
if state then
  local left, at = struct.unpack('>dd', state)
  tokens = math.min(capacity, left + math.max(0, now - at) * perMs)
end
if tokens < cost then
  return { 0, math.floor(tokens), math.ceil((cost - tokens) / perMs) }
end
tokens = tokens - cost
local full = math.ceil((capacity - tokens) / perMs)
redis.call('SET', KEYS[1], struct.pack('>dd', tokens, now), 'PX', full)
return { 1, math.floor(tokens), 0 }`

/** An exact window: a member for each take that counts. */
const WINDOW = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local limit, per, cost = tonumber(ARGV[1]), tonumber(ARGV[2]) * 1000, tonumber(ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now - per))
local used = redis.call('ZCARD', KEYS[1])
if used + cost > limit then
  local oldest = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
  return { 0, limit - used, oldest[2] and math.ceil((oldest[2] + per - now) / 1000) or 0 }
end
local score = string.format('%.0f', now)
for i = 1, cost do
  redis.call('ZADD', KEYS[1], score, i == 1 and score or score .. '-' .. i)
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return { 1, limit - used - cost, 0 }`

class Script {
  readonly sha1: string
  readonly #prefix: string
  readonly #limit: string
  readonly #rate: string

  constructor(limit: LimitSpec, number: number) {
    this.sha1 = sha1Of(sourceOf(limit))
    this.#prefix = `limit:${number}:`
    const isBucket = limit.kind === 'bucket'
    this.#limit = String(isBucket ? limit.capacity : limit.limit)
    this.#rate = String(isBucket ? limit.refill / limit.per : limit.per)
  }

  call(client: Ioredis, subject: string, cost: number): Promise<unknown> {
    return client.evalsha(this.sha1, 1, this.#prefix + subject, this.#limit, this.#rate, String(cost))
  }
}

class OneScript implements Limiter {
  readonly #client: Ioredis
  readonly #script: Script

  constructor(client: Ioredis, script: Script) {
    this.#client = client
    this.#script = script
  }

  take(subject: string, cost: number): Promise<unknown> {
    return this.#script.call(this.#client, subject, cost)
  }

  allows(answer: unknown): boolean {
    return (answer as readonly number[])[0] === 1
  }

  async close(): Promise<void> {
    this.#client.disconnect()
  }
}

/** Several limits by hand: a call for each, at once. Not all or nothing: one may count what another denies. */
class SeveralScripts implements Limiter {
  readonly #client: Ioredis
  readonly #scripts: readonly Script[]

  constructor(client: Ioredis, scripts: readonly Script[]) {
    this.#client = client
    this.#scripts = scripts
  }

  take(subject: string, cost: number): Promise<unknown> {
    return Promise.all(this.#scripts.map((script) => script.call(this.#client, subject, cost)))
  }

  allows(answer: unknown): boolean {
    return (answer as readonly (readonly number[])[]).every(([passed]) => passed === 1)
  }

  async close(): Promise<void> {
    this.#client.disconnect()
  }
}

function sourceOf({ kind }: LimitSpec): string {
  return kind === 'bucket' ? BUCKET : WINDOW
}

function sha1Of(source: string): string {
  return createHash('sha1').update(source).digest('hex')
}

export const scriptLimiter: LimiterKind = {
  role: 'floor',
  settings: 'ioredis 5, its defaults; one EVALSHA for each decision and limit',
  async open({ url, limits }: OpenLimiterOptions) {
    const client = await connectIoredis(url)
    for (const limit of limits) await client.script('LOAD', sourceOf(limit))
    const scripts = limits.map((limit, i) => new Script(limit, i))
    const [only, ...others] = scripts
    return others.length === 0 && only !== undefined
      ? new OneScript(client, only)
      : new SeveralScripts(client, scripts)
  },
}

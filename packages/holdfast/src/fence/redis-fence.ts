import { bounds, defaults } from '../defaults.ts'
import { parseDuration, type Duration } from '../duration.ts'
import { InvalidArgumentError } from '../errors.ts'
import { checkPrefix } from '../name.ts'
import { checkOptions } from '../options.ts'
import type { FenceSource } from './fence-source.ts'
import { checkWrite, type CheckedWrite, type FenceCheckOptions } from './guard-options.ts'
import changeScript from './lua/fenced-change.lua'
import readScript from './lua/fenced-read.lua'
import { callScript, type FenceRedisClient } from './redis-session.ts'
import { otherLock, stale } from './refusals.ts'

/** What {@link redisFence} takes. */
export interface RedisFenceOptions {
  /** Starts every key. Default `holdfast:v1`. */
  prefix?: string
  /**
   * How long a fence is remembered beyond the end of its value: a writer that was held up for longer is not refused any more.
   * Default 1 day.
   */
  keepFence?: Duration
}

/** How a fenced value is written. */
export interface FencedWriteOptions extends FenceCheckOptions {
  /** After this time the value reads as absent. Default: it stays until it is removed, and so does its key. */
  ttl?: Duration
}

/** A value, and the fence under which it was written. */
export interface FencedValue {
  readonly value: string
  readonly fence: bigint
}

/** What refuses a stale holder's writes to values in Redis. Made by {@link redisFence}. Each call is one round trip. */
export interface RedisFence {
  /**
   * Writes a value, if the fence is not lower than the one the value has. Compares and writes in one step on the server.
   *
   * @throws StaleFenceError when it is lower (with `once`: not higher). InvalidArgumentError for a fence of a wrong type or of
   *   another lock. Errors of the client come as they are; after one that leaves open what happened, write again: the same
   *   fence is accepted again, but for `once`
   */
  write(
    client: FenceRedisClient,
    resource: string,
    value: string,
    fence: FenceSource,
    options?: FencedWriteOptions,
  ): Promise<void>
  /** The value, `null` when there is none or its time is over. */
  read(client: FenceRedisClient, resource: string): Promise<FencedValue | null>
  /** Removes the value, under the same conditions as a write. Its fence stays. */
  remove(
    client: FenceRedisClient,
    resource: string,
    fence: FenceSource,
    options?: FenceCheckOptions,
  ): Promise<void>
  /**
   * Accepts a fence for a resource and writes nothing. It guards no write of yours: by the time you write, another holder may have
   * been accepted. For resources that cannot compare fences themselves, whose exposure it shortens and does not end.
   *
   * @throws as `write`
   */
  check(
    client: FenceRedisClient,
    resource: string,
    fence: FenceSource,
    options?: FenceCheckOptions,
  ): Promise<void>
  /** Lets the value refuse every fence below this one, as after `hf.forceRelease`. Never lowers what it accepted. */
  raise(
    client: FenceRedisClient,
    resource: string,
    fence: FenceSource,
    options?: Pick<FenceCheckOptions, 'lock'>,
  ): Promise<void>
}

/**
 * A guard for values in Redis or Valkey, over clients of ioredis, iovalkey and node-redis, of one server or of a Redis Cluster. Makes no round
 * trip. A value lies in a hash at `PREFIX:{RESOURCE}:fenced`, with its fence: in one slot, and it moves with it.
 *
 * Promises: a value is never overwritten under a lower fence than the one it has, as long as every writer goes through the guard and the
 * server keeps the key. A server that loses its last writes loses fences with their values; one that evicts the key forgets
 * both.
 *
 * @throws InvalidArgumentError that names option, value and remedy
 */
export function redisFence(options: RedisFenceOptions = {}): RedisFence {
  checkOptions(options, ['prefix', 'keepFence'], 'redisFence')
  const { prefix = defaults.prefix, keepFence = defaults.keepFence } = options
  const keep = parseDuration(keepFence, 'keepFence', { min: 1_000, max: bounds.maxFencedTtl })
  return new RedisGuard(checkPrefix(prefix, 'prefix'), keep)
}

type Change = 'write' | 'remove' | 'check' | 'raise'

class RedisGuard implements RedisFence {
  readonly #prefix: string
  readonly #keep: number

  constructor(prefix: string, keep: number) {
    this.#prefix = prefix
    this.#keep = keep
  }

  async write(
    client: FenceRedisClient,
    resource: string,
    value: string,
    fence: FenceSource,
    options: FencedWriteOptions = {},
  ): Promise<void> {
    checkOptions(options, ['once', 'lock', 'ttl'], 'write')
    const { ttl, ...check } = options
    if (typeof value !== 'string') {
      throw new InvalidArgumentError('value', value, {
        problem: 'is not a text',
        remedy: 'Give a string; JSON.stringify makes one of anything else.',
      })
    }
    const ms = ttl === undefined ? null : parseDuration(ttl, 'ttl', { min: 1, max: bounds.maxFencedTtl })
    await this.#change(client, 'write', checkWrite(resource, fence, check, 'write'), value, ms)
  }

  async read(client: FenceRedisClient, resource: string): Promise<FencedValue | null> {
    const { key } = checkWrite(resource, 1n, undefined, 'read')
    const reply = (await callScript(client, readScript, this.#keyOf(key), [])) as
      readonly [string | Buffer, string | Buffer] | null
    return reply === null ? null : { value: String(reply[0]), fence: BigInt(String(reply[1])) }
  }

  async remove(
    client: FenceRedisClient,
    resource: string,
    fence: FenceSource,
    options?: FenceCheckOptions,
  ): Promise<void> {
    await this.#change(client, 'remove', checkWrite(resource, fence, options, 'remove'))
  }

  async check(
    client: FenceRedisClient,
    resource: string,
    fence: FenceSource,
    options?: FenceCheckOptions,
  ): Promise<void> {
    await this.#change(client, 'check', checkWrite(resource, fence, options, 'check'))
  }

  async raise(
    client: FenceRedisClient,
    resource: string,
    fence: FenceSource,
    options?: Pick<FenceCheckOptions, 'lock'>,
  ): Promise<void> {
    await this.#change(client, 'raise', checkWrite(resource, fence, options, 'raise'))
  }

  async #change(
    client: FenceRedisClient,
    change: Change,
    write: CheckedWrite,
    value = '',
    ttl: number | null = null,
  ): Promise<void> {
    const { key, fence, once, lock } = write
    const times = [ttl === null ? '' : String(ttl), String(this.#keep)]
    const args = [change, String(fence), once ? '1' : '0', lock ?? '', ...times, value]
    const reply = await callScript(client, changeScript, this.#keyOf(key), args)
    if (!Array.isArray(reply)) return
    const [why, what] = reply.map(String) as [string, string]
    throw why === 'stale' ? stale('redis', write, BigInt(what)) : otherLock(write, what)
  }

  #keyOf(part: string): string {
    return `${this.#prefix}:{${part}}:fenced`
  }
}

import type { RedisPort } from '../../../holdfast/src/stores/redis/port.ts'
import type { Script } from '../../../holdfast/src/stores/redis/call-kind.ts'
import block from '../../../holdfast/src/stores/redis/lua/limit-block.lua'
import count from '../../../holdfast/src/stores/redis/lua/limit-count.lua'
import peek from '../../../holdfast/src/stores/redis/lua/limit-peek.lua'
import recount from '../../../holdfast/src/stores/redis/lua/limit-recount.lua'
import renew from '../../../holdfast/src/stores/redis/lua/limit-renew.lua'
import reset from '../../../holdfast/src/stores/redis/lua/limit-reset.lua'
import type { RespConnection } from '../../src/index.ts'

export const limitScripts: readonly Script[] = [block, count, peek, recount, renew, reset]

/** How every script reads the server's clock. No production script takes a caller's time. */
const SERVER_CLOCK = "redis.call('TIME')"
/** Where the time lies that it reads instead: seconds and microseconds. */
export const CLOCK_KEY = 'the-tests-clock'

/**
 * A way to a server whose scripts read their time from a key that the test sets: the very scripts of the library, but for
 * the one line in which they read the clock.
 */
export class ClockedPort implements RedisPort {
  readonly client = 'ioredis'
  readonly ready = true
  readonly connection = 1
  readonly #connection: RespConnection
  readonly #clocked: ReadonlyMap<string, string>
  #now = 0

  private constructor(connection: RespConnection, clocked: ReadonlyMap<string, string>) {
    this.#connection = connection
    this.#clocked = clocked
  }

  static async open(connection: RespConnection): Promise<ClockedPort> {
    const clocked = new Map<string, string>()
    for (const { sha1, source } of limitScripts) {
      const parts = source.split(SERVER_CLOCK)
      if (parts.length !== 2) throw new Error('a script reads the clock in another way, or more than once')
      const own = parts.join(`redis.call('LRANGE', '${CLOCK_KEY}', 0, -1)`)
      clocked.set(sha1, (await connection.call('SCRIPT', 'LOAD', own)) as string)
    }
    return new ClockedPort(connection, clocked)
  }

  get now(): number {
    return this.#now
  }

  async setTime(now: number): Promise<void> {
    this.#now = now
    await this.#connection.call('DEL', CLOCK_KEY)
    await this.#connection.call('RPUSH', CLOCK_KEY, ...this.#words())
  }

  async whenReady(): Promise<void> {}

  async send(command: readonly string[]): Promise<unknown> {
    const [name = '', script = '', ...rest] = command
    if (name === 'TIME') return this.#words()
    const sha1 = this.#clocked.get(script)
    if (name !== 'EVALSHA' || sha1 === undefined) throw new Error(`an unknown command ${name} ${script}`)
    return this.#connection.call(name, sha1, ...rest)
  }

  subscribe(): { close(): Promise<void> } {
    throw new Error('limits subscribe to nothing')
  }

  withConnection(): Promise<never> {
    throw new Error('limits need no connection of their own')
  }
  onConnection(): void {}
  onEnd(): void {}
  distrust(): void {}
  detach(): void {}

  #words(): [string, string] {
    return [String(Math.floor(this.#now / 1_000)), String((this.#now % 1_000) * 1_000 + 500)]
  }
}

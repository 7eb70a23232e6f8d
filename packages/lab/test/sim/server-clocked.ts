import { createHash } from 'node:crypto'
import {
  defaultBinary,
  programOf,
  startRedis,
  RespError,
  type RedisServer,
  type RespConnection,
} from '../../src/index.ts'
import { ServerError, type Reply } from '../../src/sim/server/reply.ts'

/**
 * Whether the server says what the model says to the letter: that is Redis 7.0. Later ones, and Valkey, word some errors otherwise, and write numbers
 * that are not whole, or beyond 2^53, in another way. No script of the library depends on either.
 */
export async function speaksAsTheModel(): Promise<boolean> {
  const { name, version } = await programOf(defaultBinary())
  return name === 'Redis' && version.startsWith('7.0.')
}

/**
 * A real Redis whose clock the test sets. What depends on the time is put in other words before it reaches the server: `PX` as
 * `PXAT`, `PTTL` as `PEXPIRETIME` less the time, and so on; what has expired by the test's clock is deleted before each call.
 * All times lie in the server's future, so that it lets nothing expire by itself.
 */
export class ClockedRedis {
  readonly #server: RedisServer
  readonly #connection: RespConnection
  readonly #universe: readonly string[]
  readonly #shim: string
  /** The names under which the server knows scripts. */
  readonly #loaded = new Map<string, string>()

  private constructor(server: RedisServer, connection: RespConnection, universe: readonly string[]) {
    this.#server = server
    this.#connection = connection
    this.#universe = universe
    this.#shim = clockShim(universe)
  }

  /** @param universe every key that will be used; those that a script declares need not be among them */
  static async start(universe: readonly string[]): Promise<ClockedRedis> {
    const server = await startRedis()
    return new ClockedRedis(server, await server.connect(), universe)
  }

  async stop(): Promise<void> {
    this.#connection.close()
    await this.#server.stop()
  }

  /** One command just as it is, by the server's own clock. */
  async plain(command: readonly string[]): Promise<Reply> {
    try {
      return replyFrom(await this.#connection.call(...command))
    } catch (error) {
      if (error instanceof RespError) return new ServerError(error.message)
      throw error
    }
  }

  /** One command at that time. */
  execute(command: readonly string[], nowMicros: number): Promise<Reply> {
    return this.#eval('return redis.pcall(unpack(ARGV))', [], command, nowMicros)
  }

  /** One script at that time. Its lines keep their numbers. */
  run(source: string, keys: readonly string[], args: readonly string[], nowMicros: number): Promise<Reply> {
    return this.#eval(source, keys, args, nowMicros)
  }

  /** All keys that are there, with type, expiry and content (texts in hex). */
  contents(nowMicros: number, more: readonly string[] = []): Promise<Reply> {
    return this.#eval(CONTENTS, [...this.#universe, ...more], [], nowMicros)
  }

  /** What was published since the flush, as `channel message`. */
  published(): Promise<Reply> {
    return this.plain(['LRANGE', PUBLISHED, '0', '-1'])
  }

  async flush(): Promise<void> {
    await this.#connection.call('FLUSHALL')
  }

  #eval(source: string, keys: readonly string[], args: readonly string[], nowMicros: number): Promise<Reply> {
    let sha1 = this.#loaded.get(source)
    if (sha1 === undefined) {
      const text = this.#shim + source
      sha1 = createHash('sha1').update(text).digest('hex')
      this.#loaded.set(source, sha1)
      void this.#connection.call('SCRIPT', 'LOAD', text)
    }
    const words = [sha1, String(keys.length), ...keys, ...args, String(nowMicros)]
    return this.plain(['EVALSHA', ...words])
  }
}

const PUBLISHED = 'published'

function replyFrom(value: unknown): Reply {
  if (value instanceof RespError) return new ServerError(value.message)
  if (Array.isArray(value)) return value.map(replyFrom)
  if (typeof value === 'bigint') return Number(value)
  return value as Reply
}

/** What lies at the keys given. Sets and hashes in the order of their bytes. */
export const CONTENTS = `
local function hex(text) return (string.gsub(text, '.', function(c) return string.format('%02x', string.byte(c)) end)) end
local found = {}
for _, key in ipairs(KEYS) do
  local kind = redis.call('TYPE', key).ok
  if kind ~= 'none' then
    local content = ''
    if kind == 'string' then content = hex(redis.call('GET', key))
    elseif kind == 'zset' then content = table.concat(redis.call('ZRANGE', key, 0, -1, 'WITHSCORES'), ' ')
    elseif kind == 'list' then content = table.concat(redis.call('LRANGE', key, 0, -1), ' ') end
    found[#found + 1] = key .. ' ' .. kind .. ' ' .. content .. ' ' .. string.format('%.0f', redis.call('PEXPIRETIME', key))
  end
end
return found
`

/**
 * What stands before a script: it takes the time from the end of ARGV. On one line, so that the script's lines keep their numbers.
 */
function clockShim(universe: readonly string[]): string {
  const lines = `
    local redis, ARGV = (function(real, args, keys)
      local micros = tonumber(table.remove(args))
      local now = math.floor(micros / 1000)
      local function text(n) return string.format('%.0f', n) end
      for _, some in ipairs({ keys, KEYS }) do
        for _, key in ipairs(some) do
          local at = real.call('PEXPIRETIME', key)
          if at >= 0 and at < now then real.call('DEL', key) end
        end
      end
      local function whole(word) return type(word) == 'number' and word or (string.find(word, '^%-?%d+$') and tonumber(word)) end
      local function expiring(call, words, unit, from)
        local amount = whole(words[3])
        if not amount then return call(unpack(words)) end
        local at = from + amount * unit
        local rest = { 'PEXPIREAT', words[2], text(at) }
        for i = 4, #words do rest[i] = words[i] end
        local set = call(unpack(rest))
        if set == 1 and at <= now then call('DEL', words[2]) end
        return set
      end
      local function setting(call, words)
        for i = 4, #words - 1 do
          local option, amount = string.upper(words[i]), whole(words[i + 1])
          local unit = (option == 'PX' and 1) or (option == 'EX' and 1000)
          if unit and amount and amount > 0 then
            words[i], words[i + 1] = 'PXAT', text(now + amount * unit)
            break
          end
        end
        return call(unpack(words))
      end
      local function clocked(call)
        return function(...)
          local words = { ... }
          local name = words[1]
          if name == 'TIME' then
            local seconds = math.floor(micros / 1000000)
            return { text(seconds), text(micros - seconds * 1000000) }
          elseif name == 'PTTL' or name == 'TTL' then
            local at = call('PEXPIRETIME', words[2])
            if type(at) ~= 'number' or at < 0 then return at end
            local left = math.max(0, at - now)
            return name == 'PTTL' and left or math.floor((left + 500) / 1000)
          elseif name == 'PEXPIRE' then return expiring(call, words, 1, now)
          elseif name == 'EXPIRE' then return expiring(call, words, 1000, now)
          elseif name == 'PEXPIREAT' then return expiring(call, words, 1, 0)
          elseif name == 'PSETEX' and whole(words[3]) and whole(words[3]) > 0 then
            return call('SET', words[2], words[4], 'PXAT', text(now + whole(words[3])))
          elseif name == 'SET' then return setting(call, words)
          elseif name == 'PUBLISH' and #words == 3 then
            call('RPUSH', '${PUBLISHED}', words[2] .. ' ' .. words[3])
            return 0
          end
          return call(unpack(words))
        end
      end
      return { call = clocked(real.call), pcall = clocked(real.pcall), error_reply = real.error_reply, status_reply = real.status_reply }, args
    end)(redis, ARGV, { ${universe.map((key) => JSON.stringify(key)).join(', ')} })`
  return `${lines.replace(/\n\s*/g, ' ').trim()} `
}

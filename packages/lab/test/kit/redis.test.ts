import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { connectResp, owned, redisUrlOrStart, startRedis } from '../../src/index.ts'
import type { RedisOptions, RedisServer } from '../../src/index.ts'
import * as ports from '../../src/servers/free-port.ts'

const servers: RedisServer[] = []

async function start(options?: RedisOptions): Promise<RedisServer> {
  const server = await startRedis(options)
  servers.push(server)
  return server
}

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()))
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
})

describe('startRedis', () => {
  test('serves on loopback, from a folder of its own, and leaves nothing behind', async () => {
    const server = await start()
    expect(await server.command('PING')).toBe('PONG')
    expect(server.url).toBe(`redis://127.0.0.1:${server.port}`)
    expect(await server.command('CONFIG', 'GET', 'dir')).toEqual(['dir', server.dir])
    expect(await server.command('CONFIG', 'GET', 'bind')).toEqual(['bind', '127.0.0.1'])
    expect(owned().pids).toContain(server.pid)
    await server.stop()
    expect(existsSync(server.dir)).toBe(false)
    expect(() => process.kill(server.pid, 0)).toThrow('ESRCH')
    expect(owned()).toEqual({ pids: [], folders: [] })
    await server.stop()
  })

  test('allows DEBUG, and takes directives that repeat', async () => {
    const server = await start({
      config: { maxmemory: '64mb', user: ['alice on >secret ~app:* &* +@all', 'bob on nopass ~* +get'] },
    })
    expect(await server.command('DEBUG', 'SET-ACTIVE-EXPIRE', '1')).toBe('OK')
    expect(await server.command('CONFIG', 'GET', 'maxmemory')).toEqual(['maxmemory', '67108864'])
    const alice = await server.connect()
    expect(await alice.call('AUTH', 'alice', 'secret')).toBe('OK')
    await expect(alice.call('SET', 'other', '1')).rejects.toMatchObject({ code: 'NOPERM' })
    alice.close()
  })

  test('keeps its own way in when the default user is shut out', async () => {
    const server = await start({ config: { user: 'default off' } })
    expect(await server.command('PING')).toBe('PONG')
    const stranger = await server.connect()
    await expect(stranger.call('PING')).rejects.toMatchObject({ code: 'NOAUTH' })
    stranger.close()
  })

  test('tries another port when somebody took the chosen one', async () => {
    const intruder = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => intruder.once('listening', resolve))
    const { port } = intruder.address() as { port: number }
    const choose = vi.spyOn(ports, 'freePort').mockResolvedValueOnce(port)
    const server = await start()
    expect(choose).toHaveBeenCalledTimes(2)
    expect(server.port).not.toBe(port)
    intruder.close()
  })

  test('says what is missing when there is no redis-server', async () => {
    await expect(startRedis({ binary: 'no-such-redis' })).rejects.toThrow(
      /no-such-redis was not found.*apt-get/,
    )
  })

  test('says what the server said when it refuses its configuration', async () => {
    await expect(startRedis({ config: { maxmemory: 'plenty' } })).rejects.toThrow(
      /ended at its start.*plenty/s,
    )
    expect(owned()).toEqual({ pids: [], folders: [] })
  })
})

describe('a server of ours', () => {
  test('gives replies as values and throws errors', async () => {
    const server = await start()
    expect(await server.command('RPUSH', 'list', 'a', Buffer.from('é'), 3)).toBe(3)
    expect(await server.command('LRANGE', 'list', 0, -1)).toEqual(['a', 'é', '3'])
    expect(await server.command('GET', 'nothing')).toBeNull()
    await expect(server.command('INCR', 'list')).rejects.toMatchObject({
      name: 'RespError',
      code: 'WRONGTYPE',
    })
    expect(await server.info('server')).toMatchObject({
      redis_mode: 'standalone',
      tcp_port: String(server.port),
    })
  })

  test('stands still and goes on', async () => {
    const server = await start()
    const connection = await server.connect({ within: 50 })
    await server.pause()
    await expect(connection.call('PING')).rejects.toThrow('no reply to PING in 50 ms')
    server.resume()
    expect(await server.command('PING')).toBe('PONG')
  })

  test('is killed and comes back on its port, empty', async () => {
    const server = await start()
    await server.command('SET', 'key', 'value')
    const pid = server.pid
    await server.kill()
    expect(server.running).toBe(false)
    await expect(connectResp({ port: server.port })).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    await server.restart()
    expect(server.pid).not.toBe(pid)
    expect(await server.command('GET', 'key')).toBeNull()
  })

  test('restarts gracefully with its data, or without', async () => {
    const server = await start()
    await server.command('SET', 'key', 'value')
    await server.restart()
    expect(await server.command('GET', 'key')).toBe('value')
    await server.restart({ keepData: false })
    expect(await server.command('GET', 'key')).toBeNull()
  })

  test('keeps an append-only file over a kill', async () => {
    const server = await start({ appendonly: true })
    await server.command('SET', 'key', 'value')
    await server.restart({ how: 'kill' })
    expect(await server.command('GET', 'key')).toBe('value')
  })

  test('takes directives for one run', async () => {
    const server = await start()
    await server.restart({ config: { maxmemory: 1_000_000 } })
    expect(await server.command('CONFIG', 'GET', 'maxmemory')).toEqual(['maxmemory', '1000000'])
    await server.restart()
    expect(await server.command('CONFIG', 'GET', 'maxmemory')).toEqual(['maxmemory', '0'])
  })

  test('stops for good even while it stands still', async () => {
    const server = await start()
    await server.pause()
    await server.stop()
    expect(server.running).toBe(false)
    await expect(server.restart()).rejects.toThrow('for good')
  })
})

describe('redisUrlOrStart', () => {
  test('uses the server that HOLDFAST_REDIS_URL names, and owns nothing', async () => {
    vi.stubEnv('HOLDFAST_REDIS_URL', 'redis://example.invalid:6379')
    const redis = await redisUrlOrStart()
    expect(redis).toMatchObject({ owned: false, url: 'redis://example.invalid:6379' })
    expect('server' in redis).toBe(false)
    await redis.stop()
  })

  test('starts one of our own otherwise, with a fresh prefix', async () => {
    vi.stubEnv('HOLDFAST_REDIS_URL', '')
    const [one, other] = await Promise.all([redisUrlOrStart(), redisUrlOrStart()])
    expect(one.owned && (await one.server.command('PING'))).toBe('PONG')
    expect(one.prefix).not.toBe(other.prefix)
    await Promise.all([one.stop(), other.stop()])
    expect(owned().pids).toEqual([])
  })
})

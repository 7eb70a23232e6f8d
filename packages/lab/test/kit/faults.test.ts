import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { faults, startRedis } from '../../src/index.ts'
import type { RedisServer, RespConnection } from '../../src/index.ts'

let server: RedisServer
let client: RespConnection

beforeAll(async () => {
  server = await startRedis()
})

afterAll(() => server.stop())

async function connect(): Promise<void> {
  client = await server.connect()
}

/** The code of the error that the server answers, or the reply. */
async function answer(...command: string[]): Promise<unknown> {
  const [reply] = await client.pipeline([command])
  return reply instanceof Error ? (reply as { code?: string }).code : reply
}

describe('each fault is really there, and really gone when it was undone', () => {
  afterEach(async () => {
    client.close()
    await connect()
    expect(await answer('SET', 'after', 'x')).toBe('OK')
    client.close()
  })

  test('OOM refuses what needs memory; PEXPIRE and DEL work', async () => {
    await connect()
    await answer('SET', 'key', 'x')
    const undo = await faults.oom(server)
    expect(await answer('SET', 'key', 'y')).toBe('OOM')
    expect(await answer('PEXPIRE', 'key', '10000')).toBe(1)
    expect(await answer('DEL', 'key')).toBe(1)
    await undo()
  })

  test('MISCONF refuses all writes, DEL and PEXPIRE too; data stays', async () => {
    await connect()
    await answer('SET', 'key', 'x')
    const undo = await faults.misconf(server)
    expect(await answer('SET', 'key', 'y')).toBe('MISCONF')
    expect(await answer('PEXPIRE', 'key', '10000')).toBe('MISCONF')
    expect(await answer('DEL', 'key')).toBe('MISCONF')
    expect(await answer('GET', 'key')).toBe('x')
    await undo()
    expect(await answer('DEL', 'key')).toBe(1)
    expect(await server.command('CONFIG', 'GET', 'save')).toEqual(['save', ''])
  })

  test('LOADING refuses PING too; the data is back afterwards', async () => {
    await connect()
    await answer('SET', 'key', 'x')
    const undo = await faults.loading(server)
    client.close()
    await connect()
    expect(await answer('PING')).toBe('LOADING')
    expect(await answer('SET', 'key', 'y')).toBe('LOADING')
    await undo()
    expect(await answer('GET', 'key')).toBe('x')
    expect(await server.command('DBSIZE')).toBe(2)
    expect((await server.info('keyspace')).db15).toBeUndefined()
  })

  test('BUSY refuses even GET', async () => {
    await connect()
    const undo = await faults.busy(server)
    expect(await answer('GET', 'key')).toBe('BUSY')
    await undo()
  })

  test('NOREPLICAS refuses DEL too', async () => {
    await connect()
    const undo = await faults.noReplicas(server)
    expect(await answer('SET', 'key', 'y')).toBe('NOREPLICAS')
    expect(await answer('DEL', 'key')).toBe('NOREPLICAS')
    await undo()
  })

  test('READONLY refuses writes and serves reads', async () => {
    await connect()
    await answer('SET', 'key', 'x')
    const undo = await faults.readOnly(server)
    expect(await answer('SET', 'key', 'y')).toBe('READONLY')
    expect(await answer('GET', 'key')).toBe('x')
    await undo()
  })

  test('MASTERDOWN refuses reads', async () => {
    await connect()
    const undo = await faults.masterDown(server)
    expect(await answer('GET', 'key')).toBe('MASTERDOWN')
    await undo()
  })

  test('NOSCRIPT after the scripts were flushed', async () => {
    await connect()
    const sha1 = await answer('SCRIPT', 'LOAD', 'return 1')
    expect(await answer('EVALSHA', String(sha1), '0')).toBe(1)
    await faults.scriptFlush(server)
    expect(await answer('EVALSHA', String(sha1), '0')).toBe('NOSCRIPT')
  })

  test('a frozen server answers nothing, and all of it once it goes on', async () => {
    await connect()
    const undo = await faults.frozen(server)
    const impatient = await server.connect({ within: 100 })
    await expect(impatient.call('GET', 'key')).rejects.toThrow('no reply to GET in 100 ms')
    const late = answer('SET', 'key', 'late')
    await undo()
    expect(await late).toBe('OK')
  })
})

test('LOADING works for a server with an append-only file', async () => {
  const durable = await startRedis({ appendonly: true })
  try {
    await durable.command('SET', 'key', 'x')
    const undo = await faults.loading(durable)
    await expect(durable.command('GET', 'key')).rejects.toMatchObject({ code: 'LOADING' })
    await undo()
    expect(await durable.command('GET', 'key')).toBe('x')
  } finally {
    await durable.stop()
  }
})

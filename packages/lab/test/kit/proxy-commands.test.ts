import { connect } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { connectResp, sleep, startProxy, startRedis, waitFor } from '../../src/index.ts'
import type { RedisServer, RespConnection, TcpProxy } from '../../src/index.ts'
import { encodeCommand } from '../../src/resp/commands.ts'

let server: RedisServer
let proxy: TcpProxy
const clients: RespConnection[] = []

beforeAll(async () => {
  server = await startRedis({ config: { user: 'alice on >secret ~* &* +@all' } })
})

afterAll(() => server.stop())

beforeEach(async () => {
  await server.command('FLUSHALL')
  proxy = await startProxy({ target: server, record: true })
})

afterEach(async () => {
  for (const client of clients.splice(0)) client.close()
  await proxy.close()
})

async function connected(within = 2_000): Promise<RespConnection> {
  const client = await connectResp({ port: proxy.port, within })
  clients.push(client)
  return client
}

/** Where a reply came just before. Node may have read that and the reset in one go, and then tells of an end. */
async function expectEnd(client: RespConnection): Promise<void> {
  await waitFor(() => client.closed, { what: 'the connection to be over' })
}

async function expectReset(client: RespConnection): Promise<void> {
  await waitFor(() => client.closed, { what: 'the connection to be reset' })
  await expect(client.call('PING')).rejects.toMatchObject({ code: 'ECONNRESET' })
}

describe('counting', () => {
  test('by name, set-up apart, whatever the spelling', async () => {
    const client = await connected()
    await client.call('HELLO', 3)
    await client.call('client', 'setname', 'x')
    await client.pipeline([
      ['set', 'a', 1],
      ['SET', 'a', 2],
      ['Get', 'a'],
      ['SELECT', 0],
    ])
    expect(proxy.commands).toEqual({
      total: 3,
      byName: { SET: 2, GET: 1 },
      setup: { total: 3, byName: { HELLO: 1, CLIENT: 1, SELECT: 1 } },
    })
    proxy.resetCounts()
    expect(proxy.commands).toEqual({ total: 0, byName: {}, setup: { total: 0, byName: {} } })
    await client.call('GET', 'a')
    expect(proxy.commands.byName).toEqual({ GET: 1 })
  })

  test('records what was sent, by whom and when', async () => {
    const [one, other] = [await connected(), await connected()]
    await one.call('SET', 'é', 'x y')
    await other.call('GET', 'é')
    expect(proxy.log.map(({ connection, command }) => ({ connection, command }))).toEqual([
      { connection: 1, command: ['SET', 'é', 'x y'] },
      { connection: 2, command: ['GET', 'é'] },
    ])
    expect(proxy.log[1]?.at).toBeGreaterThanOrEqual(proxy.log[0]?.at ?? Infinity)
  })

  test('of commands that never arrive too', async () => {
    const client = await connected(50)
    proxy.toServer.drop()
    await expect(client.call('GET', 'a')).rejects.toThrow('no reply')
    expect(proxy.commands.total).toBe(1)
  })

  test('goes wrong for nobody: what is not RESP passes unread', async () => {
    const socket = connect({ port: proxy.port, host: '127.0.0.1' })
    let heard = ''
    socket.on('data', (data) => (heard += data.toString()))
    socket.write(encodeCommand(['SET', 'a', 'first']))
    await waitFor(() => heard === '+OK\r\n', { what: 'the first reply' })
    socket.write('GET a\r\n')
    await waitFor(() => heard === '+OK\r\n$5\r\nfirst\r\n', { what: 'the reply to an inline command' })
    expect(proxy.commands.total).toBe(1)
    socket.destroy()
  })
})

describe('loseReplyOf', () => {
  test('executes the command, discards its reply and resets the connection; once', async () => {
    const client = await connected()
    const lost = proxy.loseReplyOf('INCR')
    await client.call('SET', 'other', 'x')
    await expect(client.call('INCR', 'n')).rejects.toMatchObject({ code: 'ECONNRESET' })
    await lost.done
    expect(lost.count).toBe(1)
    expect(await server.command('GET', 'n')).toBe('1')
    expect(await (await connected()).call('INCR', 'n')).toBe(2)
  })

  test('in a pipeline: replies before it arrive, those behind it are lost too', async () => {
    const client = await connected()
    proxy.loseReplyOf({ firstArg: 'b' })
    const outcomes = await Promise.allSettled([
      client.call('SET', 'a', '1'),
      client.call('SET', 'b', '2'),
      client.call('SET', 'c', '3'),
    ])
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected'])
    expect(await server.command('MGET', 'a', 'b', 'c')).toEqual(['1', '2', '3'])
  })

  test('as often as asked, by any condition', async () => {
    const lost = proxy.loseReplyOf((command) => command.name === 'SET' && command.args[1] === 'bad', {
      times: 2,
    })
    for (let i = 0; i < 2; i++) {
      const client = await connected()
      expect(await client.call('SET', 'k', 'good')).toBe('OK')
      await expect(client.call('SET', 'k', 'bad')).rejects.toMatchObject({ code: 'ECONNRESET' })
    }
    expect(await (await connected()).call('SET', 'k', 'bad')).toBe('OK')
    expect(lost.count).toBe(2)
  })

  test('takes large replies of many kinds for one each', async () => {
    const client = await connected(10_000)
    await client.call('HELLO', 3)
    const large = 'x'.repeat(3_000_000)
    proxy.loseReplyOf('GETDEL')
    await client.pipeline([
      ['SET', 'large', large],
      ['HSET', 'hash', 'f', 'v', 'g', large],
      ['SADD', 'set', 'a', 'b'],
      ['ZADD', 'sorted', '1.5', 'm'],
    ])
    const [text, hash, set, score, none, wrong] = await client.pipeline([
      ['GET', 'large'],
      ['HGETALL', 'hash'],
      ['SMEMBERS', 'set'],
      ['ZSCORE', 'sorted', 'm'],
      ['GET', 'none'],
      ['INCR', 'hash'],
    ])
    expect((text as string).length).toBe(large.length)
    expect((hash as Map<string, string>).get('f')).toBe('v')
    expect(new Set(set as string[])).toEqual(new Set(['a', 'b']))
    expect([score, none, (wrong as { code?: string }).code]).toEqual([1.5, null, 'WRONGTYPE'])
    await expect(client.call('GETDEL', 'large')).rejects.toMatchObject({ code: 'ECONNRESET' })
    expect(await server.command('EXISTS', 'large')).toBe(0)
  })

  test('does not take a push of RESP3 for a reply', async () => {
    const client = await connected()
    await client.call('HELLO', 3)
    await client.call('CLIENT', 'TRACKING', 'ON')
    await client.call('GET', 'watched')
    const lost = proxy.loseReplyOf('INCR')
    // The invalidation is pushed on the same connection, in front of the reply that is to be lost.
    const outcomes = await Promise.allSettled([client.call('SET', 'watched', 'x'), client.call('INCR', 'n')])
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
    expect(client.pushed).toEqual([['invalidate', ['watched']]])
    expect(lost.count).toBe(1)
  })

  test('leaves connections alone on which replies cannot be told apart', async () => {
    const client = await connected()
    const lost = proxy.loseReplyOf('PING')
    client.send('SUBSCRIBE', 'a', 'b')
    client.send('PING')
    await waitFor(() => client.pushed.length === 3, { what: 'two confirmations and a pong' })
    await server.command('PUBLISH', 'a', 'hello')
    await waitFor(() => client.pushed.length === 4, { what: 'the message' })
    expect(client.pushed).toContainEqual(['message', 'a', 'hello'])
    expect(client.pushed).toContainEqual(['pong', ''])
    expect(lost.count).toBe(0)
    expect(proxy.connections[0]?.subscribed).toBe(true)
  })

  test('treats what was sent before the subscription in the same write', async () => {
    const client = await connected()
    proxy.loseReplyOf('INCR')
    client.socket.write(Buffer.concat([encodeCommand(['INCR', 'n']), encodeCommand(['SUBSCRIBE', 'a'])]))
    await expectReset(client)
    expect(client.pushed).toEqual([])
  })
})

describe('other rules', () => {
  test('delayReplyOf: the reply is late, its command was not', async () => {
    const client = await connected()
    const delayed = proxy.delayReplyOf('INCR', 500)
    const started = performance.now()
    let replied = false
    const reply = client.call('INCR', 'n').finally(() => (replied = true))
    const behind = client.call('GET', 'n')
    await waitFor(async () => (await server.command('GET', 'n')) === '1', {
      what: 'the command to be executed',
    })
    expect(replied).toBe(false)
    expect(await reply).toBe(1)
    expect(performance.now() - started).toBeGreaterThanOrEqual(499)
    expect(await behind).toBe('1')
    expect(delayed.count).toBe(1)
  })

  test('resetBefore: the command never arrives, those before it do', async () => {
    const client = await connected()
    const reset = proxy.resetBefore('INCR')
    const outcomes = await Promise.allSettled([client.call('SET', 'a', '1'), client.call('INCR', 'n')])
    expect(outcomes[1]?.status).toBe('rejected')
    await expectEnd(client)
    await waitFor(async () => (await server.command('GET', 'a')) === '1', { what: 'the first command' })
    expect(await server.command('GET', 'n')).toBeNull()
    expect(reset.count).toBe(1)
  })

  test('onCommand decides for each, until it is taken back', async () => {
    const client = await connected()
    const seen: string[] = []
    const stop = proxy.onCommand((command) => {
      seen.push(`${command.connection} ${command.name} ${command.args.join(' ')}`)
      return command.args[0] === 'bad' ? 'reset' : undefined
    })
    await client.call('SET', 'good', '1')
    await expect(client.call('set', 'bad', '1')).rejects.toMatchObject({ code: 'ECONNRESET' })
    stop()
    await (await connected()).call('SET', 'bad', '1')
    expect(seen).toEqual(['1 SET good 1', '1 SET bad 1'])
  })

  test('cancelled, an injection does not happen', async () => {
    const client = await connected()
    proxy.loseReplyOf('INCR').cancel()
    expect(await client.call('INCR', 'n')).toBe(1)
  })

  test('work on commands in pieces and on many in one write', async () => {
    const client = await connected()
    const lost = proxy.loseReplyOf({ name: 'SET', firstArg: /^k-77$/ })
    const stream = Buffer.concat(Array.from({ length: 100 }, (_, i) => encodeCommand(['SET', `k-${i}`, 'x'])))
    for (let at = 0; at < stream.length; at += 13) {
      client.socket.write(stream.subarray(at, at + 13))
      if (at % 130 === 0) await sleep(1)
    }
    await expectEnd(client)
    expect(client.pushed).toEqual(Array.from({ length: 77 }, () => 'OK'))
    expect(lost.count).toBe(1)
  })
})

describe('holdRequest', () => {
  test('keeps a request while its connection lives, with all behind it, then brings it there', async () => {
    const client = await connected()
    const request = proxy.holdRequest('INCR')
    const first = client.call('SET', 'a', '1')
    const held = client.call('INCR', 'n')
    const behind = client.call('GET', 'n')
    expect((await request.held).args).toEqual(['n'])
    expect(await first).toBe('OK')
    expect(request.isHeld).toBe(true)
    await sleep(20)
    expect(await server.command('EXISTS', 'n')).toBe(0)
    expect(await request.deliver()).toBe(1)
    expect(request.isHeld).toBe(false)
    expect([await held, await behind]).toEqual([1, '1'])
    await expect(request.deliver()).rejects.toThrow('no request is held')
  })

  test('brings a request whose connection has died, over a new one', async () => {
    const client = await connected()
    await client.call('HELLO', 3, 'AUTH', 'alice', 'secret')
    await client.call('SELECT', 3)
    const request = proxy.holdRequest('SET')
    const sent = expect(client.call('SET', 'late', 'x')).rejects.toMatchObject({ code: 'ECONNRESET' })
    await request.held
    request.cutConnection()
    await sent
    const again = await connected()
    await again.call('SELECT', 3)
    expect(await again.call('SET', 'late', 'y')).toBe('OK')
    expect(await again.call('DEL', 'late')).toBe(1)
    expect(await request.deliver()).toBe('OK')
    expect(await again.call('GET', 'late')).toBe('x')
  })

  test('outlives a client that closed, and gives an error reply as a value', async () => {
    await server.command('SET', 'text', 'x')
    const client = await connected()
    const request = proxy.holdRequest({ name: 'incr', firstArg: 'text' })
    client.send('INCR', 'text')
    client.send('SET', 'behind', 'x')
    await request.held
    client.close()
    await waitFor(() => proxy.connections.length === 0, { what: 'the connection to be gone' })
    expect(await request.deliver()).toMatchObject({ code: 'ERR' })
    expect(await server.command('EXISTS', 'behind')).toBe(0)
  })

  test('discards', async () => {
    const client = await connected()
    const request = proxy.holdRequest('INCR')
    client.send('INCR', 'n')
    await request.held
    request.discard()
    await expectReset(client)
    proxy.holdRequest('INCR').discard()
    expect(await (await connected()).call('INCR', 'n')).toBe(1)
  })

  test('goes on its way when the proxy is healed', async () => {
    const client = await connected()
    const request = proxy.holdRequest('INCR')
    const [held, behind] = [client.call('INCR', 'n'), client.call('GET', 'n')]
    await request.held
    await proxy.heal()
    expect([await held, await behind]).toEqual([1, '1'])
    expect(request.isHeld).toBe(false)
  })

  test('two requests behind each other on one connection', async () => {
    const client = await connected()
    const first = proxy.holdRequest('INCR')
    const second = proxy.holdRequest('DECR')
    const replies = Promise.all([client.call('INCR', 'n'), client.call('DECR', 'n')])
    await first.held
    expect(second.isHeld).toBe(false)
    expect(await first.deliver()).toBe(1)
    await second.held
    expect(await second.deliver()).toBe(0)
    expect(await replies).toEqual([1, 0])
  })
})

describe('flows and rules together', () => {
  test('a command is executed though replies are held, and its reply comes with the release', async () => {
    const client = await connected()
    await client.call('PING')
    proxy.toClient.hold()
    const reply = client.call('INCR', 'n')
    await waitFor(async () => (await server.command('GET', 'n')) === '1', {
      what: 'the command to be executed',
    })
    proxy.toClient.pass()
    expect(await reply).toBe(1)
  })

  test('a lost reply behind a delay: what came before it still arrives', async () => {
    const client = await connected()
    proxy.toClient.delay(30)
    proxy.loseReplyOf('INCR')
    const outcomes = await Promise.allSettled([client.call('SET', 'a', '1'), client.call('INCR', 'n')])
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
  })

  test('counts and forwards the same while a rule is there that never matches', async () => {
    const client = await connected()
    proxy.onCommand(() => undefined)
    const replies = await client.pipeline(
      Array.from({ length: 500 }, (_, i) => ['SET', `k${i}`, 'x'.repeat(i)]),
    )
    expect(replies).toEqual(Array.from({ length: 500 }, () => 'OK'))
    expect(proxy.commands.byName).toEqual({ SET: 500 })
    expect(await server.command('STRLEN', 'k499')).toBe(499)
  })
})

import { performance } from 'node:perf_hooks'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { sleep, startProxy, waitFor } from '../../src/index.ts'
import type { TcpProxy } from '../../src/index.ts'
import { connectPeer, SilentServer } from './support/peer.ts'
import type { Peer } from './support/peer.ts'

let server: SilentServer
let proxy: TcpProxy
const clients: Peer[] = []

beforeEach(async () => {
  server = await new SilentServer().listen()
  proxy = await startProxy({ target: server, protocol: 'bytes' })
})

afterEach(async () => {
  for (const { socket } of clients.splice(0)) socket.destroy()
  await proxy.close()
  server.close()
})

/** A connection through the proxy: its client's end and its server's. */
async function connected(): Promise<{ client: Peer; peer: Peer }> {
  const index = server.peers.length
  const client = await connectPeer(proxy.port)
  clients.push(client)
  return { client, peer: await server.peer(index) }
}

describe('pass', () => {
  test('brings bytes and ends both ways', async () => {
    const { client, peer } = await connected()
    client.socket.write('ask')
    await peer.hears('ask')
    peer.socket.write('answer')
    await client.hears('answer')
    client.socket.end('bye')
    await peer.meets('end')
    expect(peer.received).toBe('askbye')
    peer.socket.end('late answer')
    await client.meets('end')
    expect(client.received).toBe('answerlate answer')
    await waitFor(() => proxy.connections.length === 0, { what: 'the connection to be forgotten' })
  })

  test('brings a reset to the other side', async () => {
    const { client, peer } = await connected()
    client.socket.resetAndDestroy()
    await peer.meets('reset')
    const other = await connected()
    other.peer.socket.resetAndDestroy()
    await other.client.meets('reset')
    await waitFor(() => proxy.connections.length === 0, { what: 'both connections to be forgotten' })
  })

  test('brings much data whole, to a slow reader too', async () => {
    const { client, peer } = await connected()
    const text = '0123456789'.repeat(2_000_000)
    peer.socket.pause()
    client.socket.write(text)
    await sleep(50)
    peer.socket.resume()
    await waitFor(() => peer.received.length === text.length, { what: 'all of it' })
    expect(peer.received === text).toBe(true)
  })
})

describe('hold', () => {
  test('keeps the bytes of one direction in order, then releases them', async () => {
    const { client, peer } = await connected()
    proxy.toServer.hold()
    for (const word of ['a', 'b', 'c']) client.socket.write(word)
    peer.socket.write('other way')
    await client.hears('other way')
    expect(peer.received).toBe('')
    proxy.toServer.pass()
    client.socket.write('d')
    await peer.hears('abcd')
  })

  test('holds connections that come later, and ends too', async () => {
    proxy.toServer.hold()
    const { client, peer } = await connected()
    client.socket.end('last words')
    await sleep(50)
    expect(peer).toMatchObject({ received: '', fate: 'open' })
    proxy.toServer.pass()
    await peer.meets('end')
    expect(peer.received).toBe('last words')
  })

  test('delivers what a client had sent before it was reset', async () => {
    const { client, peer } = await connected()
    proxy.toServer.hold()
    client.socket.write('on its way')
    await waitFor(() => client.socket.bytesWritten > 0 && client.socket.writableLength === 0, {
      what: 'it to be sent',
    })
    await sleep(20)
    client.socket.resetAndDestroy()
    await sleep(20)
    proxy.toServer.pass()
    await peer.meets('end')
    expect(peer.received).toBe('on its way')
  })

  test('of one connection leaves the others alone', async () => {
    const one = await connected()
    const other = await connected()
    proxy.connections[0]?.toClient.hold()
    one.peer.socket.write('1')
    other.peer.socket.write('2')
    await other.client.hears('2')
    expect(one.client.received).toBe('')
    proxy.connections[0]?.toClient.pass()
    await one.client.hears('1')
  })
})

describe('drop', () => {
  test('discards one direction; back to passing, what lost bytes is reset, and only that', async () => {
    const loser = await connected()
    const idle = await connected()
    proxy.toClient.drop()
    loser.peer.socket.write('lost')
    loser.client.socket.write('arrives')
    await loser.peer.hears('arrives')
    await sleep(30)
    expect(loser.client).toMatchObject({ received: '', fate: 'open' })
    proxy.toClient.pass()
    await loser.client.meets('reset')
    await loser.peer.meets('reset')
    idle.peer.socket.write('works')
    await idle.client.hears('works')
  })

  test('discards ends of connections: the server does not learn that its client is gone', async () => {
    const { client, peer } = await connected()
    proxy.toServer.drop()
    client.socket.resetAndDestroy()
    await sleep(50)
    expect(peer.fate).toBe('open')
    proxy.toServer.pass()
    await peer.meets('reset')
  })

  test('then reset: the next chunk is discarded and its connection reset, once', async () => {
    const { client, peer } = await connected()
    const injection = proxy.toClient.dropThenReset()
    peer.socket.write('reply')
    await client.meets('reset')
    await peer.meets('reset')
    await injection.done
    expect(injection.count).toBe(1)
    expect(client.received).toBe('')
    const next = await connected()
    next.peer.socket.write('fine')
    await next.client.hears('fine')
  })

  test('then reset, twice or cancelled', async () => {
    const injection = proxy.toClient.dropThenReset({ times: 3 })
    for (let i = 0; i < 2; i++) {
      const { client, peer } = await connected()
      peer.socket.write('reply')
      await client.meets('reset')
    }
    injection.cancel()
    const { client, peer } = await connected()
    peer.socket.write('fine')
    await client.hears('fine')
    expect(injection.count).toBe(2)
  })
})

describe('delay', () => {
  test('adds a fixed latency, keeps order, and does not limit how much travels', async () => {
    const { client, peer } = await connected()
    proxy.toServer.delay(200)
    const sent: number[] = []
    const arrived: number[] = []
    peer.socket.on('data', (text: string) => arrived.push(...[...text].map(() => performance.now())))
    for (let i = 0; i < 10; i++) {
      sent.push(performance.now())
      client.socket.write(String(i))
      await sleep(5)
    }
    await peer.hears('0123456789')
    const latencies = arrived.map((at, i) => at - (sent[i] as number))
    expect(Math.min(...latencies)).toBeGreaterThanOrEqual(200)
    // Ten of them one after another would take two seconds.
    expect((arrived[9] as number) - (sent[0] as number)).toBeLessThan(1_500)
  })

  test('back to passing: nothing overtakes what is on its way', async () => {
    const { client, peer } = await connected()
    proxy.toServer.delay(80)
    client.socket.write('first ')
    await sleep(20)
    proxy.toServer.pass()
    client.socket.end('second')
    await peer.meets('end')
    expect(peer.received).toBe('first second')
  })

  test('with jitter stays within its bounds and in order', async () => {
    const { client, peer } = await connected()
    proxy.toClient.delay(20, { jitter: 40 })
    const arrivals: number[] = []
    const sent: number[] = []
    client.socket.on('data', () => arrivals.push(performance.now()))
    for (let i = 0; i < 20; i++) {
      sent.push(performance.now())
      peer.socket.write(String.fromCharCode(97 + i))
      await waitFor(() => arrivals.length > i, { what: 'the byte' })
    }
    expect(client.received).toBe('abcdefghijklmnopqrst')
    const delays = arrivals.map((at, i) => at - (sent[i] as number))
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(20)
    expect(Math.max(...delays) - Math.min(...delays)).toBeGreaterThan(5)
  })

  async function rounds(client: Peer, count: number): Promise<number[]> {
    const times: number[] = []
    for (let i = 0; i < count; i++) {
      const asked = performance.now()
      const answered = new Promise((resolve) => client.socket.once('data', resolve))
      client.socket.write('?')
      await answered
      times.push(performance.now() - asked)
    }
    return times.sort((a, b) => a - b)
  }

  test('of 1 ms is near 1 ms', async () => {
    const { client, peer } = await connected()
    peer.socket.on('data', () => peer.socket.write('.'))
    proxy.toServer.delay(1)
    const times = await rounds(client, 100)
    expect(times[0]).toBeGreaterThanOrEqual(1)
    expect(times[50]).toBeLessThan(10)
  })

  test('makes no connection wait for another', async () => {
    proxy.toServer.delay(20)
    const pairs: { client: Peer; peer: Peer }[] = []
    for (let i = 0; i < 20; i++) pairs.push(await connected())
    for (const { peer } of pairs) peer.socket.on('data', () => peer.socket.write('.'))
    const started = performance.now()
    await Promise.all(pairs.map(({ client }) => rounds(client, 10)))
    // One after another they would take four seconds.
    expect(performance.now() - started).toBeLessThan(2_000)
  })
})

describe('cutAfter', () => {
  test('lets just so many bytes through, then resets both sides, once', async () => {
    const { client, peer } = await connected()
    const cut = proxy.toClient.cutAfter(7)
    peer.socket.write('12345')
    await client.hears('12345')
    peer.socket.write('67890')
    await client.meets('reset')
    await peer.meets('reset')
    expect(client.received).toBe('1234567')
    expect(cut.count).toBe(1)
    const next = await connected()
    next.peer.socket.write('whole again')
    await next.client.hears('whole again')
  })
})

describe('connections', () => {
  test('resetAll resets both sides of all, and takes new ones', async () => {
    const pairs = [await connected(), await connected()]
    expect(proxy.connections.map(({ id }) => id)).toEqual([1, 2])
    proxy.resetAll()
    for (const { client, peer } of pairs) {
      await client.meets('reset')
      await peer.meets('reset')
    }
    expect(proxy.connections).toEqual([])
    const { client, peer } = await connected()
    client.socket.write('hello')
    await peer.hears('hello')
  })

  test('are refused, and accepted again on the same port; present ones go on', async () => {
    const { client, peer } = await connected()
    await proxy.refuse()
    await expect(connectPeer(proxy.port)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    client.socket.write('still here')
    await peer.hears('still here')
    await proxy.accept()
    await connected()
  })

  test('are accepted and never answered', async () => {
    await proxy.acceptSilently()
    const client = await connectPeer(proxy.port)
    client.socket.write('anybody?')
    await sleep(50)
    expect(server.peers).toEqual([])
    expect(client).toMatchObject({ received: '', fate: 'open' })
    await proxy.heal()
    await client.meets('reset')
    await connected()
  })

  test('become half-open: gone for the server, silent for the client; new ones work', async () => {
    const { client, peer } = await connected()
    proxy.halfOpen()
    await peer.meets('reset')
    client.socket.write('anybody?')
    await sleep(50)
    expect(client).toMatchObject({ received: '', fate: 'open' })
    const next = await connected()
    next.client.socket.write('hello')
    await next.peer.hears('hello')
    proxy.resetAll()
    await client.meets('reset')
  })

  test('to a server that is down are reset', async () => {
    server.close()
    const client = await connectPeer(proxy.port)
    await client.meets('reset')
  })

  test('are all healed at once', async () => {
    const { client, peer } = await connected()
    proxy.toServer.hold()
    proxy.toClient.delay(60_000)
    proxy.toClient.cutAfter(1)
    await proxy.refuse()
    client.socket.write('held')
    await proxy.heal()
    await peer.hears('held')
    peer.socket.write('fast')
    await client.hears('fast')
    await connected()
  })
})

import { beforeEach, expect, test } from 'vitest'
import { systemClock } from '../../clock.ts'
import type { NodeRedisLike } from './node-redis.ts'
import { addressOf, SentinelDiscovery } from './sentinel-discovery.ts'

/**
 * Goal: the primary that is followed is the one that sentinels name under the latest epoch, if it is one, and no other.
 * Method: clients whose answers are given by hand; real sentinels are in the lab's tests.
 */

/** What each address answers: sentinels, and servers with their role. */
let sentinels: Map<number, { epoch: number; port: number }>
let roles: Map<number, string>
let open: Set<FakeClient>

class FakeClient {
  readonly options: { readonly socket: { readonly host: string; readonly port: number } }
  isOpen = false
  isReady = false

  constructor(port: number, host = 'h') {
    this.options = { socket: { host, port } }
  }

  connect(): Promise<void> {
    const { port } = this.options.socket
    if (!sentinels.has(port) && !roles.has(port)) return Promise.reject(new Error('nobody is there'))
    this.isOpen = this.isReady = true
    open.add(this)
    return Promise.resolve()
  }

  sendCommand(args: readonly string[]): Promise<unknown> {
    const { port } = this.options.socket
    const named = sentinels.get(port)
    const record = [
      'name',
      'set',
      'ip',
      'h',
      'port',
      String(named?.port),
      'config-epoch',
      String(named?.epoch),
    ]
    switch (args.slice(0, 2).join(' ')) {
      case 'SENTINEL MASTERS':
        return Promise.resolve([Object.fromEntries([0, 2, 4, 6].map((i) => [record[i], record[i + 1]]))])
      case 'SENTINEL MASTER':
        return Promise.resolve(record)
      case 'SENTINEL SENTINELS':
        return Promise.resolve(
          [...sentinels.keys()].filter((at) => at !== port).map((at) => ['ip', 'h', 'port', String(at)]),
        )
      case 'SENTINEL GET-MASTER-ADDR-BY-NAME':
        return Promise.resolve(['h', String(named?.port)])
      default:
        return Promise.resolve([roles.get(port)])
    }
  }

  duplicate({ socket }: { socket: { host: string; port: number } }): FakeClient {
    return new FakeClient(socket.port, socket.host)
  }

  destroy(): void {
    this.isOpen = this.isReady = false
    open.delete(this)
  }

  on(): void {}
  off(): void {}
  unref(): void {}
}

let discovery: SentinelDiscovery
let primary: NodeRedisLike
const at = (port: number) => ({ host: 'h', port })

beforeEach(async () => {
  sentinels = new Map([1, 2, 3].map((port) => [port, { epoch: 7, port: 100 }]))
  roles = new Map([
    [100, 'master'],
    [200, 'slave'],
  ])
  open = new Set()
  discovery = new SentinelDiscovery(systemClock)
  primary = new FakeClient(100)
  await discovery.learn(primary, at(1), at(100))
})

const asked = async (): Promise<number | null> => {
  const found = await discovery.ask(primary)
  return found === null ? null : (addressOf(found)?.port ?? null)
}

test('nobody is followed while no later epoch is told of', async () => {
  expect(discovery.ready).toBe(true)
  expect(await asked()).toBeNull()
  // An old primary that was started again, and a sentinel that knows no better.
  sentinels.set(2, { epoch: 5, port: 200 })
  roles.set(200, 'master')
  expect(await asked()).toBeNull()
})

test('the latest epoch of any sentinel counts, as soon as the one named is a primary', async () => {
  sentinels.set(3, { epoch: 8, port: 200 })
  expect(await asked()).toBeNull()
  roles.set(200, 'master')
  expect(await asked()).toBe(200)
  // Once.
  expect(await asked()).toBeNull()
  expect(await discovery.confirms(primary, at(200))).toBe(true)
  expect(await discovery.confirms(primary, at(100))).toBe(false)
})

test('sentinels that are gone are not waited for long, and deny nothing', async () => {
  sentinels.clear()
  expect(await asked()).toBeNull()
  expect(await discovery.confirms(primary, at(100))).toBe(true)
})

test('where addresses are translated, or no sentinel is known, nothing is learnt', async () => {
  for (const [sentinel, named] of [
    [at(1), { host: 'inside', port: 100 }],
    [undefined, at(100)],
  ] as const) {
    const other = new SentinelDiscovery(systemClock)
    await other.learn(primary, sentinel, named)
    expect(other.ready).toBe(false)
  }
})

test('no connection to a sentinel stays', async () => {
  await asked()
  discovery.rest()
  expect(open.size).toBe(0)
})

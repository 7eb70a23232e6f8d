import { ClosedError, createHoldfast, type CheckReport, type Holdfast } from 'holdfast'
import { memoryStore } from 'holdfast/memory'
import { quorumStore } from 'holdfast/quorum'
import { redisStore, type RedisStoreOptions } from 'holdfast/redis'
import { afterEach, beforeAll, afterAll, describe, expect, test } from 'vitest'
import { clientFamilies, connectClient, type ConnectedClient } from '../../src/clients.ts'
import { startRedis, waitFor, type RedisServer } from '../../src/index.ts'

/**
 * Goal: the check says what would break a promise on this very server, and nothing of a server that is set up well.
 * Method: real servers, set up well and badly, and users who may not see everything.
 */

let server: RedisServer
let connected: ConnectedClient | undefined
let hf: Holdfast | undefined

beforeAll(async () => {
  server = await startRedis({
    config: { appendonly: 'yes', appendfsync: 'always', 'repl-diskless-sync-delay': '0' },
  })
})
afterAll(() => server.stop())
afterEach(async () => {
  await hf?.close()
  connected?.close()
})

async function checkAs(
  url: string,
  kind: 'ioredis' | 'redis' = 'ioredis',
  options: RedisStoreOptions = {},
): Promise<CheckReport> {
  connected = await connectClient(kind, url)
  hf = createHoldfast({ store: redisStore(connected.client, options), prefix: 'check:v1', budget: 600 })
  return hf.check()
}

const severities = ({ findings }: CheckReport) =>
  Object.fromEntries(findings.map(({ hazard, severity }) => [hazard, severity]))
const saw = ({ findings }: CheckReport, wanted: string) =>
  findings.find(({ hazard }) => hazard === wanted)?.saw ?? ''

async function as(user: string, ...rules: string[]): Promise<string> {
  await server.command('ACL', 'SETUSER', user, 'reset', 'on', '>pw', ...rules)
  return server.url.replace('://', `://${user}:pw@`)
}

describe('a server that is set up well', () => {
  test.each(clientFamilies)('nothing is in danger (%s), and nothing is left behind', async (kind) => {
    const report = await checkAs(server.url, kind)
    expect(severities(report)).toEqual({
      locks: 'fine',
      limits: 'fine',
      idempotency: 'fine',
      version: 'fine',
      eviction: 'fine',
      persistence: 'fine',
      replicas: 'note',
      clock: 'fine',
    })
    expect(report).toMatchObject({ store: 'redis', ok: true })
    expect(saw(report, 'version')).toContain(versionIn(await server.info('server')))
    await waitFor(
      async () => ((await server.command('KEYS', '*')) as string[]).every((key) => key.endsWith(':fence')),
      { what: 'what the check used to run out' },
    )
  })

  test.each([{}, { reopenDelay: 1_000 }])(
    'the rights that it prints are enough for all of it (%o)',
    async (options) => {
      const { rights } = await checkAs(server.url, 'ioredis', options)
      const line = (rights ?? '').replace('default', 'told').split(' ')
      await server.command(...(line as [string, ...string[]]), '>pw')
      await hf?.close()
      connected?.close()
      const report = await checkAs(server.url.replace('://', '://told:pw@'), 'ioredis', options)
      expect(severities(report)).toMatchObject({ locks: 'fine', limits: 'fine', idempotency: 'fine' })
      // Such a user may not read the server's settings, and is told so; with the right to INFO most of them.
      const unseen = 'reopenDelay' in options ? { persistence: 'note' } : { server: 'note' }
      expect(severities(report)).toMatchObject(unseen)
      expect(report.ok).toBe(true)
    },
  )
})

describe('a server that is not', () => {
  test('an eviction policy other than noeviction is told; with a limit it is a danger', async () => {
    await server.command('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru')
    try {
      expect(severities(await checkAs(server.url))).toMatchObject({ eviction: 'warning' })
      await server.command('CONFIG', 'SET', 'maxmemory', '200mb')
      const report = await hf?.check()
      expect(report?.ok).toBe(false)
      expect(report?.findings[0]).toMatchObject({ hazard: 'eviction', severity: 'danger' })
      expect(report?.findings[0]?.remedy).toContain('noeviction')
      await server.command('CONFIG', 'SET', 'maxmemory', '1mb')
      expect(severities((await hf?.check()) as CheckReport)).toMatchObject({ memory: 'warning' })
    } finally {
      await server.command('CONFIG', 'SET', 'maxmemory', '0')
      await server.command('CONFIG', 'SET', 'maxmemory-policy', 'noeviction')
    }
  })

  test('persistence: what is lost in a restart is told, for each way of keeping data', async () => {
    await server.command('CONFIG', 'SET', 'appendfsync', 'everysec')
    expect(severities(await checkAs(server.url))).toMatchObject({ persistence: 'note' })
    await server.command('CONFIG', 'SET', 'appendfsync', 'always')
    await server.command('CONFIG', 'SET', 'appendonly', 'no')
    await server.command('CONFIG', 'SET', 'save', '')
    try {
      const report = await hf?.check()
      expect(severities(report as CheckReport)).toMatchObject({ persistence: 'warning' })
      expect(saw(report as CheckReport, 'persistence')).toBe('nothing is written to disk')
    } finally {
      await server.command('CONFIG', 'SET', 'appendonly', 'yes')
    }
  })

  test('a replica: asynchronous replication is told, a replica as the server is a danger', async () => {
    const replica = await startRedis()
    try {
      await replica.command('REPLICAOF', server.host, String(server.port))
      await waitFor(async () => (await replica.info('replication'))['master_link_status'] === 'up', {
        what: 'the replica to follow',
        within: 20_000,
      })
      expect(severities(await checkAs(server.url))).toMatchObject({
        replicas: 'warning',
        'min-replicas': 'warning',
      })
      await hf?.close()
      connected?.close()
      const report = await checkAs(replica.url)
      expect(report.ok).toBe(false)
      expect(severities(report)).toMatchObject({ role: 'danger', locks: 'danger' })
      expect(saw(report, 'locks')).toContain('READONLY')
    } finally {
      await replica.stop()
    }
  })

  test('rights that are missing: each primitive says so, in words that mend it', async () => {
    const report = await checkAs(await as('reader', '~*', '&*', '+@read', '+@connection', '+info'))
    expect(report.ok).toBe(false)
    expect(severities(report)).toMatchObject({ locks: 'danger', limits: 'danger', idempotency: 'danger' })
    expect(saw(report, 'locks')).toContain('NOPERM')
    expect(report.rights).toContain('~check:v1:* &check:v1:* +@scripting')
  })

  test('one that does not answer is a finding, within two budgets', async () => {
    const frozen = await startRedis()
    try {
      connected = await connectClient('ioredis', frozen.url)
      hf = createHoldfast({ store: redisStore(connected.client), budget: '2s' })
      await frozen.pause()
      const began = performance.now()
      const report = await hf.check()
      expect(performance.now() - began).toBeLessThan(2 * 2_000)
      expect(report.ok).toBe(false)
      expect(severities(report)).toMatchObject({ locks: 'danger' })
    } finally {
      frozen.resume()
      await hf?.close()
      await frozen.stop()
    }
  })
})

test('of a quorum only its locks are tried: it has nothing else', async () => {
  hf = createHoldfast({ store: quorumStore([memoryStore(), memoryStore(), memoryStore()]) })
  const report = await hf.check()
  expect(severities(report)).not.toHaveProperty('limits')
  expect([report.ok, severities(report)['locks']]).toEqual([true, 'fine'])
})

test('of a quorum each node is looked at, and one that does not answer is told', async () => {
  const others = await Promise.all([startRedis(), startRedis()])
  try {
    const clients = await Promise.all(
      [server, ...others].map(({ url }) => connectClient('ioredis', url, { reconnectAfter: 10 })),
    )
    hf = createHoldfast({ store: quorumStore(clients.map(({ client }) => redisStore(client))), budget: 600 })
    const whole = await hf.check()
    const seen = whole.findings.filter(({ hazard }) => hazard === 'eviction').map(({ saw }) => saw)
    expect(seen.map((saw) => saw.split(':')[0])).toEqual(['stores[0]', 'stores[1]', 'stores[2]'])
    await others[1]?.pause()
    const without = await hf.check()
    expect(without.ok).toBe(true)
    const silent = without.findings.filter(
      ({ severity, saw }) => severity === 'warning' && /does not answer/.test(saw),
    )
    expect(silent.map(({ saw }) => saw.split(':')[0])).toEqual(['stores[2]'])
    others[1]?.resume()
    await hf.close()
    for (const client of clients) client.close()
  } finally {
    for (const other of others) await other.stop()
  }
})

test('another store says what it is; a closed instance is not checked', async () => {
  hf = createHoldfast({ store: memoryStore() })
  expect(await hf.check()).toMatchObject({ store: 'memory', ok: true, rights: null })
  expect(severities(await hf.check())).toMatchObject({ durability: 'note', locks: 'fine' })
  await hf.close()
  await expect(hf.check()).rejects.toThrow(ClosedError)
})

/** Valkey names a Redis that it stands in for, too. */
function versionIn(info: Record<string, string>): string {
  return info['valkey_version'] ?? info['redis_version'] ?? ''
}

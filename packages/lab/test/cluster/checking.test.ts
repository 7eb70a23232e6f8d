import { createHoldfast, fixedWindow } from 'holdfast'
import { redisStore } from 'holdfast/redis'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { clientKinds, connectCluster } from '../../src/clients.ts'
import { startCluster, waitFor, type RedisCluster } from '../../src/index.ts'
import { channelsOf, ClusterScene } from './scene.ts'

/**
 * Goal: the check looks at every primary of a cluster, and the rights that it prints are enough for all that we do there.
 * Method: a real cluster, one node of it set up badly; a user who may do no more than was printed.
 */

let cluster: RedisCluster
let scene: ClusterScene

beforeAll(async () => {
  cluster = await startCluster({ replicas: 0, config: { appendonly: 'yes', appendfsync: 'always' } })
})
afterAll(() => cluster.stop())
afterEach(() => scene.end())

describe.each(clientKinds)('over %s', (kind) => {
  test('a cluster that is set up well is ok; of one bad node it is said which', async () => {
    scene = new ClusterScene(cluster, kind)
    const hf = await scene.holdfast({ budget: '5s' })
    const report = await hf.check()
    expect(report.findings.filter(({ severity }) => severity === 'danger')).toEqual([])
    expect(report.ok).toBe(true)
    const versions = report.findings.filter(({ hazard }) => hazard === 'version').map(({ saw }) => saw)
    expect(versions).toHaveLength(3)
    for (const { port } of cluster.nodes)
      expect(versions.some((saw) => saw.startsWith(`node on port ${port}: `))).toBe(true)
    const [, bad] = cluster.nodes
    await bad?.command('CONFIG', 'SET', 'maxmemory-policy', 'volatile-lru')
    await bad?.command('CONFIG', 'SET', 'maxmemory', '100mb')
    const worse = await hf.check()
    await bad?.command('CONFIG', 'SET', 'maxmemory', '0')
    await bad?.command('CONFIG', 'SET', 'maxmemory-policy', 'noeviction')
    expect(worse.ok).toBe(false)
    const dangers = worse.findings.filter(({ severity }) => severity === 'danger')
    expect(dangers.map(({ saw }) => saw)).toEqual([
      expect.stringContaining(`node on port ${bad?.port}: maxmemory-policy volatile-lru`),
    ])
  })

  test('the rights that it prints are enough', async () => {
    scene = new ClusterScene(cluster, kind)
    const first = await scene.holdfast({ budget: '5s' })
    const { rights } = await first.check()
    const rules = (rights ?? '').split(' ').slice(3)
    expect(rules).toContain('+cluster|slots')
    // What the client itself asks for, beside us: who it is, and how the server is.
    const own = ['+@connection', '+info', '+client']
    for (const node of cluster.nodes) {
      await node.command('ACL', 'SETUSER', 'told', 'reset', ...rules, ...own, '>pw')
      await node.command('ACL', 'LOG', 'RESET')
    }
    const clients = await Promise.all(
      [1, 2].map(() =>
        connectCluster(kind, cluster.addresses, { login: { username: 'told', password: 'pw' } }),
      ),
    )
    const [one, two] = clients.map(({ client }) =>
      createHoldfast({ store: redisStore(client), prefix: scene.prefix, budget: '5s' }),
    ) as [ReturnType<typeof createHoldfast>, ReturnType<typeof createHoldfast>]
    for (const name of ['a', 'b', 'c', 'd']) {
      const held = await one.lock(name).acquire()
      const waiting = two.lock(name, { wait: '20s' }).acquire()
      await waitFor(
        async () => (await channelsOf(cluster, scene.prefix)).some((channel) => channel.includes(':free:')),
        { what: 'a sharded subscription' },
      )
      await held.extend('1m')
      await held.release()
      await waiting
      await one.forceRelease(name)
    }
    await one.lockAll(['e', 'f']).run(() => 1)
    expect((await one.limiter('l', fixedWindow({ limit: 1, per: '1m' })).take('u')).allowed).toBe(true)
    expect((await one.idempotency('i').run({ key: 'k', scope: 'u' }, {}, () => 1)).value).toBe(1)
    await one.close()
    await two.close()
    for (const client of clients) client.close()
    for (const node of cluster.nodes) {
      const refused = (await node.command('ACL', 'LOG')) as string[][]
      expect(refused.map((entry) => entry[entry.indexOf('object') + 1])).toEqual([])
    }
  })
})

import { createHoldfast, NotAcknowledgedError, type Holdfast } from 'holdfast'
import { redisStore, type AcknowledgeOptions } from 'holdfast/redis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { clientKinds, connectClient, type ClientKind } from '../../src/clients.ts'
import { hasWaitaof, startReplicaSet, type RedisServer, type ReplicaSet } from '../../src/index.ts'

/**
 * Goal: with `disk` a grant counts when it lies on the disks that it must lie on, and what is missing is told.
 * Method: a primary and two replicas, whose append-only files are switched off in turn. Needs a server that has WAITAOF (Redis from 7.2 on,
 * Valkey); see HOLDFAST_REDIS_PROGRAM. On others all of it is skipped.
 */

/** A replica tells what lies on its disk about once a second, however soon it lies there. */
const DISKS: AcknowledgeOptions = { replicas: 2, of: 2, within: '5s', disk: true }

const able = await hasWaitaof()
let set: ReplicaSet
let primary: RedisServer
let replicas: RedisServer[]
let spaces = 0
const ends: (() => unknown)[] = []

describe.skipIf(!able)('on disk (skipped: the server has no WAITAOF)', () => {
  beforeAll(async () => {
    set = await startReplicaSet({ config: { appendonly: 'yes', appendfsync: 'always' } })
    ;[primary, ...replicas] = set.servers as [RedisServer, ...RedisServer[]]
  })
  afterAll(() => set.stop())
  beforeEach(async () => {
    for (const server of set.servers) await server.command('CONFIG', 'SET', 'appendonly', 'yes')
    await set.untilInSync()
  })
  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end()
  })

  async function open(
    kind: ClientKind,
    acknowledge: AcknowledgeOptions = DISKS,
    budget: `${number}s` = '20s',
  ): Promise<{ hf: Holdfast; key: (name: string) => string }> {
    const client = await connectClient(kind, set.door.url)
    ends.push(() => client.close())
    const prefix = `disk${(spaces += 1)}:v1`
    const hf = createHoldfast({ prefix, budget, store: redisStore(client.client, { acknowledge }) })
    ends.push(() => hf.close())
    return { hf, key: (name) => `${prefix}:{${name}}:lock` }
  }

  describe.each(clientKinds)('%s', (kind) => {
    test('a grant is in the files of all three when it is told: killed and started again, they have it', async () => {
      const { hf, key } = await open(kind)
      set.door.resetCounts()
      const held = await hf.lock('a', { ttl: '5m' }).acquire()
      expect(set.door.commands.byName.WAITAOF).toBeGreaterThanOrEqual(1)
      expect(set.door.commands.byName.WAIT ?? 0).toBe(0)
      await held.extend('6m')
      for (const replica of replicas) {
        // It comes back by itself, with nothing but its file.
        await replica.restart({ how: 'kill' })
        expect(await replica.command('ROLE')).toMatchObject({ 0: 'master' })
        expect(await replica.command('GET', key('a'))).toContain(`#${held.fence}`)
        await replica.restart({ keepData: false, how: 'kill' })
        await replica.command('REPLICAOF', primary.host, String(primary.port))
      }
      await held.release()
    })

    test('one replica keeps no file: told how many have it on disk, and the grant is undone', async () => {
      const { hf, key } = await open(kind, { ...DISKS, within: '1500ms' }, '4s')
      await replicas[0]?.command('CONFIG', 'SET', 'appendonly', 'no')
      const refused = await hf
        .lock('a')
        .tryAcquire()
        .catch((error: unknown) => error)
      expect(refused).toBeInstanceOf(NotAcknowledgedError)
      expect((refused as Error).message).toContain('1 of 2 replicas had it on disk within 1500 ms')
      await hf.close()
      expect(await primary.command('GET', key('a'))).toBeNull()
    })
  })

  test('the primary keeps no file: refused before anything is granted, and granted once it keeps one', async () => {
    const { hf, key } = await open('ioredis')
    await primary.command('CONFIG', 'SET', 'appendonly', 'no')
    await expect(hf.lock('a').tryAcquire()).rejects.toThrow(
      'acknowledge.disk: true needs an append-only file',
    )
    expect(await primary.command('EXISTS', key('a'))).toBe(0)
    await primary.command('CONFIG', 'SET', 'appendonly', 'yes')
    await (await hf.lock('a').acquire()).release()
  })

  test('the check says so beforehand', async () => {
    const { hf } = await open('ioredis')
    const found = async (): Promise<string[]> => {
      const { findings } = await hf.check()
      return findings
        .filter(({ hazard }) => hazard === 'acknowledge')
        .map(({ severity, saw }) => `${severity}: ${saw}`)
    }
    expect(await found()).toContainEqual(
      expect.stringMatching(
        /^fine: a write was on disk on 2 of 2 replicas after \d+ ms, and they have 5000 ms$/,
      ),
    )
    await replicas[1]?.command('CONFIG', 'SET', 'appendonly', 'no')
    expect(await found()).toContainEqual(
      expect.stringMatching(/^danger: a write was on disk on 1 of 2 replicas after \d+ ms/),
    )
    await primary.command('CONFIG', 'SET', 'appendonly', 'no')
    expect(await found()).toContain('danger: the server keeps no append-only file, and disk is true')
  })
})

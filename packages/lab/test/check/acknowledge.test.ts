import { createHoldfast, type Finding } from 'holdfast'
import { redisStore, type AcknowledgeOptions } from 'holdfast/redis'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { connectClient } from '../../src/clients.ts'
import { hasWaitaof, startReplicaSet, waitFor, type ReplicaSet } from '../../src/index.ts'

/**
 * Goal: the check says before the first lock whether grants can be acknowledged as is demanded.
 * Method: a primary and two replicas, each behind a proxy that can hold back or delay what it is sent.
 */

let set: ReplicaSet
const ends: (() => unknown)[] = []

beforeAll(async () => {
  set = await startReplicaSet({ links: true })
})
afterAll(() => set.stop())
beforeEach(() => set.untilInSync())
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
  for (const link of set.links) link.toClient.pass()
})

async function found(acknowledge: AcknowledgeOptions): Promise<Pick<Finding, 'severity' | 'saw'>[]> {
  const { client, close } = await connectClient('ioredis', set.door.url)
  const hf = createHoldfast({ store: redisStore(client, { acknowledge }), budget: '2s' })
  ends.push(async () => {
    await hf.close()
    close()
  })
  const { findings } = await hf.check()
  return findings
    .filter(({ hazard }) => hazard === 'acknowledge')
    .map(({ severity, saw }) => ({ severity, saw }))
}

const BOTH = { replicas: 2, of: 2, within: '150ms' } as const

test('both are there, and quick: nothing to say, and nothing is left behind', async () => {
  const findings = await found({ ...BOTH, within: '1s' })
  expect(findings).toEqual([
    { severity: 'fine', saw: '2 of 2 replicas are connected, and 2 must have a grant' },
    {
      severity: 'fine',
      saw: expect.stringMatching(
        /^a write was on 2 of 2 replicas after \d+ ms, and they have 1000 ms$/,
      ) as unknown,
    },
  ])
  const left = async (): Promise<boolean> =>
    ((await set.servers[0]?.command('KEYS', '*:check:*')) as string[]).length === 0
  await waitFor(left, { what: 'what the check wrote to run out' })
})

test('fewer connected than are set up: a warning; fewer than must have a grant: a danger; more than are counted: a danger', async () => {
  expect(await found({ replicas: 2, of: 3 })).toContainEqual({
    severity: 'warning',
    saw: '2 of 3 replicas are connected, and 2 must have a grant',
  })
  expect(await found({ replicas: 3, of: 3 })).toContainEqual({
    severity: 'danger',
    saw: '2 of 3 replicas are connected, and 3 must have a grant',
  })
  expect(await found({ replicas: 1, of: 1 })).toContainEqual({
    severity: 'danger',
    saw: '2 of 1 replicas are connected, and 1 must have a grant',
  })
})

test('one lags by most of the time that it has: a warning; by more: a danger', async () => {
  set.links[1]?.toClient.delay(110)
  expect((await found(BOTH)).map(({ severity }) => severity)).toContain('warning')
  set.links[1]?.toClient.delay(1_000)
  const worse = await found(BOTH)
  expect(worse.find(({ severity }) => severity === 'danger')?.saw).toMatch(/^a write was on 1 of 2 replicas/)
})

test('disk on a server that has no WAITAOF, or no append-only file: a danger', async () => {
  const version = (await set.servers[0]?.info('server'))?.redis_version
  const lacks = (await hasWaitaof()) ? 'the server keeps no append-only file' : `the server is ${version}`
  const findings = await found({ ...BOTH, disk: true })
  expect(findings).toContainEqual({ severity: 'danger', saw: `${lacks}, and disk is true` })
})

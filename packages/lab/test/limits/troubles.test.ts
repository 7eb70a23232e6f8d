import { systemRandomness } from 'holdfast/testing'
import type { Policy } from '../../../holdfast/src/store/limit/policy.ts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { clientFamilies } from '../../src/clients.ts'
import { sleep, spawnWorker, startRedis, type RedisServer } from '../../src/index.ts'
import { everyKind, firstOf, LimitScene, verdictOf } from './limit-scene.ts'

/**
 * Goal: a server that forgets scripts, starts anew or refuses fails no decision but those that it must, and none of those that
 * travel with them; and many processes are limited as one.
 */

const DAY = 86_400_000

let server: RedisServer
let scene: LimitScene

beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())
beforeEach(async () => {
  await server.command('FLUSHALL')
})
afterEach(async () => {
  await server.command('CONFIG', 'SET', 'maxmemory', '0')
  await server.allowEverything()
  await scene.end()
})

const bucket: readonly Policy[] = [
  { kind: 'token-bucket', name: 'bucket', capacity: 1_000, refill: 1, per: DAY },
]
const window: readonly Policy[] = [{ kind: 'sliding-window', name: 'window', limit: 1_000, per: DAY }]
const all = everyKind(1_000, 300 * DAY)
const sets: readonly (readonly Policy[])[] = [...all.map((policy) => [policy]), all]

describe.each(clientFamilies)('%s', (kind) => {
  test('E21: SCRIPT FLUSH in mid-load: no decision fails, and all are counted once', async () => {
    scene = await LimitScene.open(server, { kind })
    const until = performance.now() + 1_000
    const taken = new Map<string, number>()
    const load = async (n: number): Promise<void> => {
      while (performance.now() < until) {
        const subject = `subject${(n + (taken.get('all') ?? 0)) % 7}`
        const verdict = await scene.decided(subject, n % 2 === 0 ? all : window)
        expect(verdict.allowed).toBe(true)
        const key = `${subject} ${n % 2}`
        taken.set(key, (taken.get(key) ?? 0) + 1)
        taken.set('all', (taken.get('all') ?? 0) + 1)
        await sleep(1)
      }
    }
    const flush = async (): Promise<void> => {
      while (performance.now() < until) {
        await server.command('SCRIPT', 'FLUSH')
        await sleep(5)
      }
    }
    await Promise.all([...Array.from({ length: 16 }, (_, n) => load(n)), flush()])
    expect(taken.get('all') ?? 0).toBeGreaterThan(20)
    expect(scene.proxy.commands.byName.EVAL ?? 0).toBeGreaterThan(2)
    for (let n = 0; n < 7; n += 1) {
      const { remaining } = firstOf(await scene.peek(`subject${n}`, all))
      expect(999 - remaining).toBe(taken.get(`subject${n} 0`) ?? 0)
    }
  })

  test('E21: the server starts anew in mid-load, without its data: what follows is decided', async () => {
    scene = await LimitScene.open(server, { kind })
    for (const policies of sets) await scene.decided('restarted', policies, { cost: 10 })
    const waiting = sleep(20).then(() =>
      Promise.all(sets.map((policies) => scene.take('meanwhile', policies))),
    )
    await server.restart({ keepData: false })
    for (const outcome of await waiting) expect(verdictOf(outcome).allowed).toBe(true)
    for (const policies of sets) {
      expect(firstOf(await scene.decided('after', policies)).remaining).toBe(999)
      await scene.limits.reset({ address: scene.address('after'), policies }, scene.attempt())
    }
  })
})

describe('one that fails', () => {
  beforeEach(async () => {
    scene = await LimitScene.open(server)
  })

  const names = Array.from({ length: 6 }, (_, n) => `n${n}`)
  const keyOf = (subject: string, { name }: Policy): string => `${scene.address(subject).key}:${name}`
  const large: Policy = { kind: 'sliding-window', name: 'large', limit: 5_000, per: DAY }

  /** One take for each subject, in one turn; how each ended. */
  async function together(policies: readonly Policy[], subjects = names): Promise<string[]> {
    const outcomes = await Promise.all(subjects.map((name) => scene.take(name, policies)))
    return outcomes.map((outcome) => (outcome.kind === 'done' ? 'done' : outcome.failure.reason))
  }

  test.each([
    ...everyKind(10, 300 * DAY).map((policy) => [policy.name, [policy]] as const),
    ['large', [large]] as const,
  ])(
    'where a key of another type lies, under %s, fails alone, and the key stays',
    async (_name, policies) => {
      const [policy = large] = policies
      await scene.warmUp(policies)
      await server.command('RPUSH', keyOf('n3', policy), 'a list')
      for (let round = 0; round < 2; round += 1) {
        expect(await together(policies)).toEqual(names.map((_, n) => (n === 3 ? 'WRONGTYPE' : 'done')))
      }
      const outcome = await scene.take('n3', policies)
      expect(outcome).toMatchObject({ kind: 'refused', failure: { final: true } })
      await expect(
        scene.limits.reset({ address: scene.address('n3'), policies }, scene.attempt()),
      ).rejects.toMatchObject({ reason: 'WRONGTYPE' })
      expect(await server.command('LRANGE', keyOf('n3', policy), 0, -1)).toEqual(['a list'])
    },
  )

  test.each(all.map((policy) => [policy.name, policy] as const))(
    'that is taken from several times in a call, under %s, fails each time, and none else does',
    async (_name, policy) => {
      await scene.warmUp([policy])
      await server.command('RPUSH', keyOf('n3', policy), 'a list')
      const subjects = ['n1', 'n3', 'n3', 'n3', 'n2', 'n1', 'n1', 'n3', 'n1']
      expect(await together([policy], subjects)).toEqual(
        subjects.map((subject) => (subject === 'n3' ? 'WRONGTYPE' : 'done')),
      )
      expect(firstOf(await scene.peek('n1', [policy])).remaining).toBe(1_000 - 4 - 1)
    },
  )

  test('where one of several keys is of another type, none of them counts', async () => {
    const policies = [...everyKind(10, 300 * DAY), large]
    await scene.warmUp(policies)
    for (const policy of policies) {
      await server.command('RPUSH', keyOf('n3', policy), 'a list')
      expect(await together(policies)).toEqual(names.map((_, n) => (n === 3 ? 'WRONGTYPE' : 'done')))
      await server.command('DEL', keyOf('n3', policy))
      expect((await scene.keys()).filter((key) => key.startsWith(scene.address('n3').key))).toEqual([])
    }
  })

  test('where the subject key itself is of another type nobody can be blocked, and limits go on', async () => {
    await server.command('RPUSH', scene.address('n3').key, 'a list')
    expect(await together(bucket)).toEqual(names.map(() => 'done'))
    const ask = { address: scene.address('n3'), policies: bucket, duration: 1_000 }
    await expect(scene.limits.block(ask, scene.attempt())).rejects.toMatchObject({ reason: 'WRONGTYPE' })
    expect(await server.command('LRANGE', scene.address('n3').key, 0, -1)).toEqual(['a list'])
  })

  test.each(sets.map((policies) => [policies.map(({ name }) => name).join(', '), policies] as const))(
    'what other software wrote under %s counts as nothing, and is overwritten',
    async (_name, policies) => {
      for (const text of [
        '',
        'x',
        '5',
        '-',
        'garbage',
        'w'.repeat(60),
        't'.repeat(19),
        's'.repeat(51),
        '9'.repeat(20),
        'f'.repeat(19),
      ]) {
        for (const policy of policies) {
          if (text !== 'f'.repeat(19) || policy.kind !== 'fixed-window') {
            await server.command('SET', keyOf('foreign', policy), text)
          }
        }
        const { allowed } = await scene.decided('foreign', policies)
        expect([text, allowed]).toEqual([text, expect.any(Boolean)])
        expect(await scene.endless()).toEqual([])
        await scene.limits.reset({ address: scene.address('foreign'), policies }, scene.attempt())
      }
    },
  )

  test('outside the ACL fails alone, and nothing of it counts', async () => {
    const allowed = names.filter((name) => name !== 'n3').map((name) => `~${scene.address(name).key}*`)
    await scene.warmUp(bucket)
    await server.command('ACL', 'SETUSER', 'default', 'resetkeys', `~${scene.prefix}:{limits}:*`, ...allowed)
    expect(await together(bucket)).toEqual(names.map((_, n) => (n === 3 ? 'NOPERM' : 'done')))
    expect(await together(all)).toEqual(names.map((_, n) => (n === 3 ? 'NOPERM' : 'done')))
    for (const name of names.filter((name) => name !== 'n3')) {
      expect(firstOf(await scene.peek(name, bucket)).remaining).toBe(998)
      expect(firstOf(await scene.peek(name, all)).remaining).toBe(998)
    }
  })

  test('E2: a server that is full refuses, and has counted nothing', async () => {
    await scene.warmUp(bucket)
    await server.command('CONFIG', 'SET', 'maxmemory', '1')
    const outcome = await scene.take('full', all)
    expect(outcome).toMatchObject({ kind: 'refused', failure: { reason: 'OOM', outcome: 'not-done' } })
    await server.command('CONFIG', 'SET', 'maxmemory', '0')
    expect(await scene.keys()).not.toContain(keyOf('full', all[0] ?? large))
  })
})

describe('many at once', () => {
  test.each(everyKind(5, 300 * DAY).map((policy) => [policy.name, policy] as const))(
    'E25: 1000 parallel takes by 4 processes at a limit of 5, %s: exactly 5 pass',
    async (_name, policy) => {
      scene = await LimitScene.open(server)
      const file = new URL('./taker-worker.ts', import.meta.url)
      const workers = await Promise.all([1, 2, 3, 4].map(() => spawnWorker(file)))
      try {
        await Promise.all(workers.map((worker) => worker.call('open', server.url, scene.prefix)))
        const admitted = await Promise.all(
          workers.map((worker) => worker.call<number>('takeMany', 'shared', { ...policy }, 250)),
        )
        expect(admitted.reduce((sum, count) => sum + count, 0)).toBe(5)
      } finally {
        await Promise.all(workers.map((worker) => worker.end()))
      }
      expect(firstOf(await scene.peek('shared', [policy])).remaining).toBe(0)
    },
  )

  test.each(everyKind(5, 300 * DAY).map((policy) => [policy.name, policy] as const))(
    'subjects that are taken from by turns and several times on end in one call are counted each by itself, %s',
    async (_name, policy) => {
      scene = await LimitScene.open(server)
      await scene.warmUp([policy])
      const subjects = Array.from({ length: 30 }, (_, n) => ['x', 'x', 'y', 'x', 'z', 'y'][n % 6] as string)
      const verdicts = await Promise.all(subjects.map((subject) => scene.decided(subject, [policy])))
      const allowed = (subject: string) =>
        verdicts.filter((_, n) => subjects[n] === subject).map((verdict) => verdict.allowed)
      for (const [subject, asked] of [
        ['x', 15],
        ['y', 10],
        ['z', 5],
      ] as const)
        expect(allowed(subject)).toEqual(Array.from({ length: asked }, (_, n) => n < 5))
      expect(await scene.endless()).toEqual([])
    },
  )

  test('E13: a thousand takes in one turn, of several costs, count as a thousand', async () => {
    scene = await LimitScene.open(server)
    const policies = everyKind(10_000, 300 * DAY)
    for (const set of [...policies.map((policy) => [policy]), policies]) {
      const costs = Array.from({ length: 1_000 }, () => 1 + Math.floor(systemRandomness.fraction() * 3))
      await Promise.all(costs.map((cost) => scene.take('busy', set, { cost })))
      const { remaining } = firstOf(await scene.peek('busy', set))
      expect(10_000 - 1 - remaining).toBe(costs.reduce((sum, cost) => sum + cost, 0))
      await scene.limits.reset({ address: scene.address('busy'), policies: set }, scene.attempt())
    }
  })
})

import type { Policy } from '../../../holdfast/src/store/limit/policy.ts'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { clientKinds, sendsAgain } from '../../src/clients.ts'
import { sleep, startRedis, waitFor, type RedisServer } from '../../src/index.ts'
import { everyKind, firstOf, isCount, isFirstCount, isRecount, LimitScene, verdictOf } from './limit-scene.ts'

/**
 * Goal: what counts counts once, however often it is asked and whichever copy comes first.
 * Method: the proxy lets the server do what was asked and discards the answer, or keeps a request back until after the one
 * that asks again.
 */

const LIMIT = 100
const DAY = 86_400_000
const bucket: readonly Policy[] = [
  { kind: 'token-bucket', name: 'bucket', capacity: LIMIT, refill: 1, per: DAY },
]
const kinds = everyKind(LIMIT, 300 * DAY).map((policy): readonly Policy[] => [policy])
const all = everyKind(LIMIT, 300 * DAY)
const take = { id: 'a'.repeat(22) }

let server: RedisServer
let scene: LimitScene

beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())
afterEach(() => scene.end())

/** What counts of a subject, under each policy. */
async function used(subject: string, policies: readonly Policy[]): Promise<number[]> {
  const verdict = await scene.peek(subject, policies)
  return verdict.policies.map(({ remaining, allowed }) => LIMIT - remaining - (allowed ? 1 : 0))
}

describe.each(clientKinds)('%s', (kind) => {
  test('E22: the reply to a take is lost: it is answered in the end, and counted once', async () => {
    scene = await LimitScene.open(server, { kind, budget: 900 })
    await scene.warmUp(bucket)
    for (const policies of [bucket, ...kinds, all]) {
      const subject = policies.map(({ name }) => name).join()
      await scene.decided(subject, policies)
      const lost = scene.proxy.loseReplyOf(isCount)
      const verdict = await scene.decided(subject, policies, { cost: 3 })
      expect(lost.count).toBe(1)
      expect(verdict.allowed).toBe(true)
      expect(verdict.policies.map(({ remaining }) => remaining)).toEqual(policies.map(() => LIMIT - 4))
      expect(await used(subject, policies)).toEqual(policies.map(() => 4))
    }
  })

  test('E22: the replies to many takes of one call are lost: each is counted once', async () => {
    scene = await LimitScene.open(server, { kind, budget: 900 })
    await scene.warmUp(bucket)
    const lost = scene.proxy.loseReplyOf(isCount, { times: 2 })
    const subjects = Array.from({ length: 150 }, (_, n) => `many${n % 50}`)
    const outcomes = await Promise.all(subjects.map((subject) => scene.take(subject, bucket)))
    expect(lost.count).toBeGreaterThanOrEqual(1)
    // Three takes for each subject: in whatever order, each saw another number left.
    const seen = subjects.map((subject, n) => {
      const outcome = outcomes[n]
      return outcome === undefined ? '' : `${subject} ${firstOf(verdictOf(outcome)).remaining}`
    })
    expect(new Set(seen).size).toBe(150)
    for (let n = 0; n < 50; n += 1) expect(await used(`many${n}`, bucket)).toEqual([3])
  })

  test('E22: the reply to an adjustment is lost: it is made once', async () => {
    scene = await LimitScene.open(server, { kind, budget: 900 })
    await scene.warmUp(all)
    const taken = await scene.decided('adjusted', all, { cost: 10, ...take })
    await scene.decided('adjusted', all, { cost: 20 })
    const lost = scene.proxy.loseReplyOf(isCount)
    const change = { take: take.id, at: taken.at, taken: 10, cost: 4 }
    const outcome = await scene.adjust('adjusted', all, change)
    expect(lost.count).toBe(1)
    expect(outcome).toMatchObject({ kind: 'done', answer: { result: { kind: 'done', adjusted: true } } })
    expect(await used('adjusted', all)).toEqual(all.map(() => 24))
  })

  test('E22: every reply is lost: unknown in time, and counted once', async () => {
    scene = await LimitScene.open(server, { kind, budget: 600 })
    await scene.warmUp(bucket)
    const lost = scene.proxy.loseReplyOf(isCount, { times: Infinity })
    const outcome = await scene.take('lost', bucket)
    expect(outcome.kind).toBe('unknown')
    expect(lost.count).toBeGreaterThan(1)
    lost.cancel()
    // A client that waited on its broken connection hears of that with the next command.
    const counted = await waitFor(() => used('lost', bucket), { what: 'the connection to be back' })
    expect(counted).toEqual([1])
  })

  test.runIf(sendsAgain(kind))('E22: the client itself sends it again: the same answer', async () => {
    // A budget with which the library would not ask again for a long time.
    scene = await LimitScene.open(server, { kind, budget: 9_000 })
    for (const policies of [bucket, ...kinds]) {
      await scene.warmUp(policies)
      const lost = scene.proxy.loseReplyOf(isFirstCount)
      expect(firstOf(await scene.decided('sent twice', policies)).remaining).toBe(LIMIT - 1)
      expect(lost.count).toBe(1)
      const calls = scene.proxy.log.filter(({ command: [name] }) => name === 'EVALSHA')
      expect(calls).toHaveLength(2)
      expect(calls[0]?.command).toEqual(calls[1]?.command)
      expect(await used('sent twice', policies)).toEqual([1])
    }
  })
})

describe.each(clientKinds)('a copy that comes late, %s', (kind) => {
  test('E22: the first request arrives after the one that asked again: it finds what was decided', async () => {
    for (const policies of [bucket, ...kinds, all]) {
      scene = await LimitScene.open(server, { kind, budget: 2_400 })
      await scene.warmUp(policies)
      const first = scene.proxy.holdRequest(isFirstCount)
      const outcome = scene.take('late', policies)
      await first.held
      // It lives on; what asks again comes over another connection.
      first.cutConnection()
      expect(firstOf(verdictOf(await outcome)).remaining).toBe(LIMIT - 1)
      const reply = (await first.deliver()) as unknown[]
      expect(reply).toHaveLength(3)
      expect(await used('late', policies)).toEqual(policies.map(() => 1))
      const asksAgain = scene.proxy.log.some(({ command: [name = '', sha1 = ''] }) =>
        isRecount({ name, args: [sha1] }),
      )
      expect(asksAgain).toBe(!sendsAgain(kind))
      await scene.end()
    }
    scene = await LimitScene.open(server)
  })

  test('after its time it counts nothing', async () => {
    scene = await LimitScene.open(server, { kind, budget: 300 })
    await scene.warmUp(bucket)
    const first = scene.proxy.holdRequest(isFirstCount)
    expect((await scene.take('too late', bucket)).kind).toBe('unknown')
    await sleep(350)
    const reply = (await first.deliver()) as unknown[]
    expect(reply[2]).toBe('late')
    expect(await used('too late', bucket)).toEqual([0])
  })
})

describe('the same ask twice', () => {
  test('E22: with one id, one after the other, or in one turn: answered the same', async () => {
    scene = await LimitScene.open(server)
    for (const policies of [bucket, all]) {
      const ask = {
        address: scene.address('twice'),
        policies,
        cost: 2,
        countDenied: false,
        returnAfter: null,
      }
      const id = `${policies.length}`.padEnd(22, 'x')
      const answers = await Promise.all(
        [1, 2, 3].map(() => scene.limits.take({ ...ask, id }, scene.attempt())),
      )
      answers.push(await scene.limits.take({ ...ask, id }, scene.attempt()))
      for (const { result } of answers) expect(result).toEqual(answers[0]?.result)
      const other = await scene.limits.take({ ...ask, id: id.replaceAll('x', 'y') }, scene.attempt())
      expect(other.result).not.toEqual(answers[0]?.result)
      expect(await used('twice', policies)).toEqual(policies.map(() => 4))
    }
  })

  test('a reply is kept for twice the budget, no longer; what counts nothing keeps none', async () => {
    scene = await LimitScene.open(server, { budget: 2_000 })
    const replies = async () => (await server.command('KEYS', `${scene.prefix}:{limits}:reply:*`)) as string[]
    await scene.decided('kept', bucket)
    const [key = ''] = await replies()
    const left = (await server.command('PTTL', key)) as number
    expect(left).toBeGreaterThan(3_000)
    expect(left).toBeLessThanOrEqual(4_000)
    await scene.decided('kept', bucket, { cost: LIMIT })
    await scene.peek('kept', bucket)
    expect(await replies()).toEqual([key])
    expect(
      scene.proxy.log.some(({ command: [name = '', sha1] }) => isRecount({ name, args: [sha1 ?? ''] })),
    ).toBe(false)
  })
})

import { formatVerdict, type InvariantId, type Verdict } from 'holdfast/testing'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ownFolder, removeFolder, sleep, startProxy, startRedis, waitFor } from '../../src/index.ts'
import type { RedisServer, TcpProxy, Worker } from '../../src/index.ts'
import type { NaiveKind } from '../../src/workers/naive-locks.ts'
import { isAcquire, isRelease } from '../support/scripts.ts'
import { Arena, spawnContenders } from './arena.ts'

/**
 * Goal: the checker proves something: it fails for holders that are broken on purpose, each under the fault that shows it.
 * Method: one story for each way in which locks are commonly broken, told once with the broken lock, and once with ours in
 * the very same story, where nothing must be found.
 */

const TTL = 400

let server: RedisServer
let proxy: TcpProxy
let folder: string
let workers: Worker[]
let arena: Arena
let stories = 0

beforeAll(async () => {
  server = await startRedis()
  folder = ownFolder('broken-holders')
  workers = await spawnContenders(3)
})
afterAll(async () => {
  await Promise.all(workers.map((worker) => worker.kill()))
  await server.stop()
  removeFolder(folder)
})
beforeEach(async () => {
  await server.command('FLUSHALL')
  proxy = await startProxy({ target: server })
})
afterEach(() => proxy.close())

type Kind = NaiveKind | 'holdfast'

/** Three processes with locks of one kind, and a new history. */
async function begin(kind: Kind): Promise<readonly [Worker, Worker, Worker]> {
  const options = { kind, ttl: TTL, budget: 600, store: { redis: proxy.url }, view: { redis: server.url } }
  arena = await Arena.open(join(folder, `story ${(stories += 1)}`), workers, options)
  return workers as [Worker, Worker, Worker]
}

const free = () =>
  waitFor(async () => (await server.command('EXISTS', arena.key)) === 0, { what: 'the lease to end' })

const take = (worker: Worker) => worker.call<number | null>('tryAcquire')

/** Acquires; fails the test when the lock is busy. */
async function mustTake(worker: Worker): Promise<number> {
  const id = await take(worker)
  expect(id, 'the lock is free').not.toBeNull()
  return id as number
}

/** Found wanting by this invariant, and the witness says by whom. */
function expectFound(verdict: Verdict, invariant: InvariantId): void {
  const found = verdict.violations.filter((violation) => violation.invariant === invariant)
  expect(found, formatVerdict(verdict)).not.toEqual([])
  expect(found[0]?.witness.length).toBeGreaterThan(0)
  expect(verdict.ok).toBe(false)
}

function expectRight(verdict: Verdict): void {
  expect(verdict.ok, formatVerdict(verdict)).toBe(true)
  expect(verdict.counted.acquires.granted).toBeGreaterThan(1)
}

/** A holder that is stopped until its lease has passed to the next, and then releases. A third wants the lock, too. */
async function releasedTooLate(kind: Kind): Promise<Verdict> {
  const [late, next, third] = await begin(kind)
  const id = await mustTake(late)
  let nextId = -1
  await arena.stopWhile(late, async () => {
    await free()
    nextId = await mustTake(next)
  })
  await late.call('release', id)
  const thirdId = await take(third)
  await next.call('release', nextId)
  if (thirdId !== null) await third.call('release', thirdId)
  return arena.judge()
}

/** A holder whose deletion is held up on the way until its lease has passed to the next. A third wants the lock, too. */
async function deletionHeldUp(kind: Kind): Promise<Verdict> {
  const [late, next, third] = await begin(kind)
  const id = await mustTake(late)
  const request = proxy.holdRequest(kind === 'holdfast' ? isRelease : 'DEL')
  const releasing = late.call('release', id).catch(() => null)
  await request.held
  await free()
  const nextId = await mustTake(next)
  await request.deliver()
  await releasing
  const thirdId = await take(third)
  await next.call('release', nextId)
  if (thirdId !== null) await third.call('release', thirdId)
  return arena.judge()
}

/** A holder whose fence counter is lost, with all else, between two grants. */
async function counterLost(kind: Kind): Promise<Verdict> {
  const [one, other] = await begin(kind)
  for (const worker of [one, other, one]) {
    const id = await mustTake(worker)
    await worker.call('write', id)
    await worker.call('release', id)
  }
  await arena.fault('flushed', ['leases'], () => server.command('FLUSHALL'))
  const id = await mustTake(other)
  await other.call('write', id)
  await other.call('release', id)
  return arena.judge()
}

/** A holder that is stopped until its lease has passed to the next, and then renews. */
async function renewedTooLate(kind: Kind): Promise<Verdict> {
  const [late, next] = await begin(kind)
  const id = await mustTake(late)
  let nextId = -1
  await arena.stopWhile(late, async () => {
    await free()
    nextId = await mustTake(next)
  })
  await sleep(0.75 * TTL)
  if (kind !== 'holdfast') await late.call('look', id)
  await late.call('release', id)
  await next.call('release', nextId)
  return arena.judge()
}

describe('the checker', () => {
  test('finds a bare DEL: a late release deletes another’s lock', async () => {
    const verdict = await releasedTooLate('bare-del')
    expectFound(verdict, 'INV-M1')
    expectFound(verdict, 'INV-H2')
  })

  test('finds GET-then-DEL: a deletion held up between the two deletes another’s lock', async () => {
    const verdict = await deletionHeldUp('get-then-del')
    expectFound(verdict, 'INV-M1')
    expectFound(verdict, 'INV-M2')
  })

  test('finds an INCR fence: it begins anew when the counter is lost', async () => {
    expectFound(await counterLost('incr-fence'), 'INV-F1')
  })

  test('finds renewal by SET: a late renewal takes the lock from its next holder', async () => {
    expectFound(await renewedTooLate('renewal-by-set'), 'INV-M1')
  })

  test.each([
    ['a release that is too late', releasedTooLate],
    ['a deletion that is held up', deletionHeldUp],
    ['a lost counter', counterLost],
    ['a renewal that is too late', renewedTooLate],
  ])('finds nothing in ours, in the story of %s', async (_, story) => {
    expectRight(await story('holdfast'))
  })

  // These kill a process of the three, so they come last.
  test('finds SETNX + EXPIRE: killed in between, a key stays for ever', async () => {
    const [dying, other] = await begin('setnx-expire')
    const request = proxy.holdRequest('PEXPIRE')
    const acquiring = take(dying).catch(() => null)
    await request.held
    await arena.kill(dying)
    request.discard()
    await acquiring
    await sleep(2 * TTL)
    expect(await take(other)).toBeNull()
    expectFound(await arena.judge(), 'INV-C1')
  })

  test('finds nothing in ours when it is killed after its first command', async () => {
    workers = [...workers.filter(({ running }) => running), ...(await spawnContenders(1))]
    const [, , dying] = await begin('holdfast')
    const lost = proxy.loseReplyOf(isAcquire, { times: Infinity })
    const acquiring = take(dying).catch(() => null)
    await waitFor(() => lost.count > 0, { what: 'the first command', within: 20_000 })
    await arena.kill(dying)
    lost.cancel()
    await acquiring
    await free()
    const [one, other] = workers as [Worker, Worker]
    for (const worker of [one, other]) await worker.call('release', await mustTake(worker))
    expectRight(await arena.judge())
  })
})

import { describe, expect, test } from 'vitest'
import { QuorumImpossibleError } from '../../errors.ts'
import { QuorumBench } from '../../testing/quorum-bench.ts'

/**
 * Goal: a grant stands on a majority and is worth having, or nothing of it stays anywhere.
 * Method: a whole instance over nodes in memory, with trouble between it and single nodes; what lies on the nodes is read as
 * they see it.
 */

const BUDGET = 200
const free = (nodes: number): null[] => Array.from({ length: nodes }, () => null)

describe('a grant', () => {
  test('stands on all nodes, excludes others, and is given back on all', async () => {
    const bench = new QuorumBench({ nodes: 5 })
    const lock = bench.process(0).hf.lock('a')
    const held = await bench.within(lock.acquire(), 1)
    expect(await bench.owners('a')).toEqual(Array(5).fill(held.owner))
    const other = bench.process(1).hf
    expect(await bench.within(other.lock('a').tryAcquire(), 1)).toBeNull()
    expect((await bench.within(other.inspect('a'), 1))?.owner).toBe(held.owner)
    expect(await bench.within(held.release(), 1)).toEqual({ released: true, confirmed: true })
    expect(await bench.owners('a')).toEqual(free(5))
    expect(await bench.within(other.lock('a').tryAcquire(), 1)).not.toBeNull()
  })

  test('B3: comes with the majority; the slow nodes are not waited for, and validity counts from the start', async () => {
    const bench = new QuorumBench({ nodes: 5 })
    bench.trouble([0, 1, 2], 'acquire', { answeredAfter: 50 })
    bench.trouble([3], 'acquire', { answeredAfter: 5_000 })
    bench.trouble([4], 'acquire', 'swallowed')
    const { hf } = bench.process()
    const began = bench.clock.monotonic()
    const held = await bench.within(hf.lock('a', { ttl: 1_000, renew: false }).acquire(), 50)
    expect(bench.clock.monotonic() - began).toBe(50)
    // 1 % and 2 ms are taken off for clocks that run apart.
    expect(held.remaining()).toBe(1_000 - 50 - 12)
    await bench.clock.advance(937)
    expect(held.lost).toBeNull()
    await bench.clock.advance(1)
    expect(held.lost).toBe('expired')
  })

  test('A1: a majority that stands only when its time is over is no grant, and is given back', async () => {
    const bench = new QuorumBench({ quorum: { nodeBudget: '100ms' } })
    const { hf } = bench.process()
    bench.trouble([0, 1, 2], 'acquire', { answeredAfter: 90 })
    const asked = hf.lock('a', { ttl: 200, renew: false }).acquire({ wait: 0 })
    await bench.clock.settle()
    // The answers lie there, unread, while the event loop is blocked.
    bench.clock.blockFor(500)
    await expect(bench.within(asked, 2_000)).rejects.toMatchObject({ retryable: true })
    expect(await bench.owners('a')).toEqual(free(3))
  })

  test('a late grant of a minority belongs to the hold, and is renewed and given back with it', async () => {
    const bench = new QuorumBench()
    bench.trouble([2], 'acquire', { arrivesAfter: 100 })
    const { hf, ways } = bench.process()
    const held = await bench.within(hf.lock('a', { ttl: 3_000 }).acquire(), 1)
    expect(await bench.owners('a')).toEqual([held.owner, held.owner, null])
    await bench.clock.advance(100)
    expect(await bench.owners('a')).toEqual(Array(3).fill(held.owner))
    await bench.clock.advance(1_000)
    expect(ways.map((way) => way.count('renew'))).toEqual([1, 1, 1])
    await bench.within(held.release(), 1)
    expect(await bench.owners('a')).toEqual(free(3))
  })

  test('the wider drift is put on top on the nodes: a fast clock does not end a lease before its holder', async () => {
    const bench = new QuorumBench({ nodes: [{ faster: 0.08 }, { faster: 0.08 }, {}], quorum: { drift: 0.1 } })
    const [one, two] = [bench.process(0).hf, bench.process(1).hf]
    const held = await bench.within(one.lock('a', { ttl: 10_000, renew: false }).acquire(), 1)
    for (let i = 0; i < 98; i += 1) {
      await bench.clock.advance(100)
      if (held.lost !== null) break
      expect(await bench.within(two.lock('a').tryAcquire(), 1)).toBeNull()
    }
    expect(held.lost).toBe('expired')
  })
})

describe('no majority', () => {
  test('B1: an exact tie settles at once, and is rolled back everywhere', async () => {
    for (const [nodes, theirs] of [
      [2, [1]],
      [4, [2, 3]],
    ] as const) {
      const bench = new QuorumBench({ nodes, processes: 2 })
      // The other one reaches only half of the nodes, and does not give up.
      const ours = Array.from({ length: nodes }, (_, i) => i).filter((i) => !theirs.includes(i as never))
      bench.trouble(ours, 'acquire', 'swallowed', 1)
      void bench
        .process(1)
        .hf.lock('a')
        .acquire({ wait: 0 })
        .catch(() => {})
      const began = bench.clock.monotonic()
      const maybe = await bench.within(bench.process(0).hf.lock('a').tryAcquire(), 1)
      expect(maybe).toBeNull()
      expect(bench.clock.monotonic() - began).toBe(1)
      await bench.clock.advance(BUDGET + 1)
      expect(await bench.owners('a')).toEqual(free(nodes))
    }
  })

  test('B2: a node that accepts and never answers holds nobody up beyond its budget', async () => {
    const bench = new QuorumBench()
    bench.trouble([0], 'acquire', 'unanswered')
    const { hf } = bench.process()
    const held = await bench.within(hf.lock('a').acquire(), 1)
    await bench.within(held.release(), 1)
    bench.trouble([0, 1], 'acquire', 'unanswered')
    const failed = hf.lock('b').tryAcquire()
    const outcome = await bench.outcomeOf(failed, BUDGET)
    expect(outcome).toMatchObject({ error: { code: 'QUORUM_IMPOSSIBLE', outcome: 'unknown' } })
  })

  test('B6: two of three refuse: one round, and an error that says so', async () => {
    const bench = new QuorumBench()
    bench.trouble([0, 1], 'acquire', 'refused')
    const { hf, ways } = bench.process()
    const error: unknown = await bench.within(hf.lock('a').tryAcquire(), 1).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(QuorumImpossibleError)
    expect(error).toMatchObject({
      code: 'QUORUM_IMPOSSIBLE',
      outcome: 'not-done',
      retryable: true,
      nodes: [
        { node: 0, reason: 'READONLY' },
        { node: 1, reason: 'READONLY' },
      ],
    })
    expect(ways.map((way) => way.count('acquire'))).toEqual([1, 1, 1])
    expect(await bench.owners('a')).toEqual(free(3))
  })

  test('who waits goes on while there is time, and gets it when the nodes are back', async () => {
    const bench = new QuorumBench()
    bench.trouble([0, 1], 'acquire', 'refused')
    const waiting = bench.process().hf.lock('a').acquire({ wait: '5s' })
    await bench.clock.advance(1_000)
    bench.heal()
    const held = await bench.within(waiting, 200)
    expect(await bench.owners('a')).toEqual(Array(3).fill(held.owner))
  })

  test('who waits in vain is told at the end that no quorum was possible', async () => {
    const bench = new QuorumBench()
    bench.trouble([0, 1], 'acquire', 'refused')
    const waiting = bench.process().hf.lock('a').acquire({ wait: '2s' })
    await expect(bench.within(waiting, 2_500)).rejects.toBeInstanceOf(QuorumImpossibleError)
    expect(await bench.owners('a')).toEqual(free(3))
  })

  test('B7: one grants, one is held by another, one is slow: no key of ours stays, even if the slow one lands late', async () => {
    const bench = new QuorumBench({ processes: 2 })
    bench.trouble([0, 2], 'acquire', 'swallowed', 1)
    void bench
      .process(1)
      .hf.lock('a')
      .acquire({ wait: 0 })
      .catch(() => {})
    await bench.clock.settle()
    bench.trouble([2], 'acquire', { arrivesAfter: BUDGET + 50 })
    const outcome = await bench.outcomeOf(bench.process(0).hf.lock('a').tryAcquire(), BUDGET)
    expect(outcome).toEqual({ value: null })
    await bench.clock.advance(3 * BUDGET)
    expect(await bench.owners('a')).toEqual(free(3))
  })

  test('a grant that arrives after its release is released once more, until none can come', async () => {
    const bench = new QuorumBench({ quorum: { nodeBudget: '200ms' } })
    bench.trouble([2], 'acquire', { arrivesAfter: 150 })
    const { hf, ways } = bench.process()
    const held = await bench.within(hf.lock('a').acquire(), 1)
    await bench.within(held.release(), 1)
    await bench.clock.advance(147)
    expect(ways[2]?.count('release')).toBe(1)
    await bench.clock.advance(2)
    expect((await bench.owners('a'))[2]).toBe(held.owner)
    await bench.clock.advance(60)
    expect(await bench.owners('a')).toEqual(free(3))
    const sent = ways[2]?.count('release')
    await bench.clock.advance(60_000)
    expect(ways[2]?.count('release')).toBe(sent)
  })

  test('a node that does not answer is released again until the lease is over, and then no more', async () => {
    const bench = new QuorumBench()
    const { hf, ways } = bench.process()
    const held = await bench.within(hf.lock('a', { ttl: 5_000 }).acquire(), 1)
    bench.trouble([2], 'release', 'swallowed')
    await bench.within(held.release(), 1)
    await bench.clock.advance(3_000)
    const early = ways[2]?.count('release') ?? 0
    expect(early).toBeGreaterThan(2)
    await bench.clock.advance(10_000)
    const late = ways[2]?.count('release') ?? 0
    await bench.clock.advance(60_000)
    expect(ways[2]?.count('release')).toBe(late)
    expect(bench.clock.pendingTimers).toBe(0)
  })

  test('A8: aborted in flight: nothing stays', async () => {
    const bench = new QuorumBench({ nodes: 5 })
    bench.trouble([0, 1, 2, 3, 4], 'acquire', { answeredAfter: 100 })
    const stop = new AbortController()
    const asked = bench.process().hf.lock('a').acquire({ signal: stop.signal })
    const outcome = asked.catch((error: unknown) => error)
    await bench.clock.advance(10)
    stop.abort(new Error('enough'))
    expect(await outcome).toEqual(new Error('enough'))
    await bench.clock.advance(2 * BUDGET)
    expect(await bench.owners('a')).toEqual(free(5))
  })
})

describe('fences', () => {
  const fenced = { fence: true } as const

  test('without `fence` a hold says that it has none worth the name', async () => {
    const held = await new QuorumBench().process().hf.lock('a').acquire()
    expect(held.fences).toBe('none')
  })

  test('the highest of the majority is agreed to by a majority: the next grant is above it, on whichever nodes', async () => {
    const bench = new QuorumBench({ nodes: [{ ahead: 60_000 }, {}, { ahead: -60_000 }], quorum: fenced })
    const [one, two] = [bench.process(0), bench.process(1)]
    const held = await bench.within(one.hf.lock('a').acquire(), 1)
    expect(held.fences).toBe('clocked')
    await bench.within(held.release(), 1)
    // The node whose clock is ahead is not reached by the next one.
    bench.trouble([0], 'acquire', 'swallowed', 1)
    const next = await bench.within(two.hf.lock('a').acquire(), 1)
    expect(next.fence).toBeGreaterThan(held.fence)
  })

  test('no majority agrees: it is no grant, and is given back', async () => {
    const bench = new QuorumBench({ quorum: fenced })
    bench.trouble([0, 1], 'raise', 'refused')
    const outcome = await bench.outcomeOf(bench.process().hf.lock('a').tryAcquire(), BUDGET)
    expect(outcome).toMatchObject({ error: { code: 'QUORUM_IMPOSSIBLE' } })
    expect(await bench.owners('a')).toEqual(free(3))
  })

  test('a node whose own fence is higher asks for a higher one', async () => {
    const bench = new QuorumBench({ nodes: [{}, {}, { ahead: 60_000 }], quorum: fenced })
    // The third answers only after the majority, and one of that majority does not agree in time.
    bench.trouble([2], 'acquire', { answeredAfter: 10 })
    bench.trouble([0], 'raise', 'swallowed')
    const { hf, ways } = bench.process()
    const held = await bench.within(hf.lock('a').acquire(), 3 * BUDGET)
    expect(Number(held.fence) / 1_000).toBeGreaterThan(bench.clock.wall() + 50_000)
    expect(ways[1]?.count('raise')).toBe(2)
  })
})

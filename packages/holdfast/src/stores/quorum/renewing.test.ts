import { afterEach, describe, expect, test } from 'vitest'
import { listen } from '../../events/channels.ts'
import { QuorumBench } from '../../testing/quorum-bench.ts'

/**
 * Goal: a hold goes on while a majority renews it, ends when none can, and never spans a gap.
 * Method: a whole instance over nodes in memory that can be cut off, and come back empty.
 */

const TTL = 3_000
/** Just after the first renewal, and from one to the next. */
const THIRD = TTL / 3

const ends: (() => void)[] = []
afterEach(() => {
  for (const end of ends.splice(0)) end()
})

async function holding(nodes: number, fence = false) {
  const bench = new QuorumBench({ nodes, quorum: { fence } })
  const process = bench.process()
  const held = await bench.within(process.hf.lock('a', { ttl: TTL }).acquire(), 1)
  const other = bench.process(1).hf.lock('a', { ttl: TTL })
  return { bench, held, other, ways: process.ways }
}

describe('a renewal', () => {
  test('41, 42: with a minority down the hold goes on for as long as it likes', async () => {
    const { bench, held, other } = await holding(5)
    bench.trouble([0, 1], 'renew', 'swallowed')
    for (let i = 0; i < 8; i += 1) {
      await bench.clock.advance(TTL / 2)
      expect(held.lost).toBeNull()
      expect(await bench.within(other.tryAcquire(), 1)).toBeNull()
    }
  })

  test('42: with a majority down it is lost at the local deadline, with the nodes still dead', async () => {
    const { bench, held } = await holding(5)
    bench.trouble([0, 1, 2], 'renew', 'swallowed')
    await bench.clock.advance(TTL - 40)
    expect(held.lost).toBeNull()
    await bench.clock.advance(10)
    expect(held.lost).toBe('unreachable')
  })

  test('by fewer than a majority is none: lost, and the rest is given back', async () => {
    const { bench, held } = await holding(3)
    bench.nodes[1]?.restart()
    bench.nodes[2]?.restart()
    await bench.clock.advance(THIRD + 10)
    expect(held.lost).toBe('missing')
    await bench.clock.advance(10)
    expect(await bench.owners('a')).toEqual([null, null, null])
  })

  test('C6: a majority that was taken by another is lost at the next one', async () => {
    const { bench, held, other } = await holding(3)
    bench.nodes[0]?.restart()
    bench.nodes[1]?.restart()
    const theirs = await bench.within(other.tryAcquire(), 300)
    expect(theirs).not.toBeNull()
    await bench.clock.advance(THIRD)
    expect(held.lost).toBe('taken')
    expect(theirs?.lost).toBeNull()
  })

  test('B4: whose answers come after the ttl is none', async () => {
    const { bench, held } = await holding(3)
    bench.trouble([0, 1, 2], 'renew', { answeredAfter: TTL })
    await bench.clock.advance(TTL - 20)
    expect(held.lost).not.toBeNull()
    await bench.clock.advance(2 * TTL)
    expect(held.lost).not.toBeNull()
  })

  test('C5: one that fails is tried again before the deadline', async () => {
    const { bench, held } = await holding(3)
    const failed: unknown[] = []
    ends.push(listen('holdfast:lock:renew-failed', (event) => failed.push(event)))
    bench.trouble([0, 1, 2], 'renew', 'cut', 0)
    await bench.clock.advance(THIRD + 10)
    expect(failed).toHaveLength(1)
    bench.heal()
    await bench.clock.advance(TTL)
    expect(held.lost).toBeNull()
  })

  test('C1: released in the moment of the grant, nothing is renewed afterwards', async () => {
    const { bench, held, ways } = await holding(3)
    await bench.within(held.release(), 1)
    await bench.clock.advance(3 * TTL)
    expect(ways.map((way) => way.count('renew'))).toEqual([0, 0, 0])
    expect(bench.clock.pendingTimers).toBe(0)
  })
})

describe('a node that came back', () => {
  test('41: is taken in after a renewal that stood without it', async () => {
    const { bench, held } = await holding(3)
    bench.nodes[0]?.restart()
    await bench.clock.advance(THIRD + 10)
    expect(await bench.owners('a')).toEqual(Array(3).fill(held.owner))
  })

  test('counts from the next renewal on that stood without it', async () => {
    const { bench, held } = await holding(3)
    bench.nodes[0]?.restart()
    await bench.clock.advance(2 * THIRD + 10)
    bench.nodes[1]?.restart()
    await bench.clock.advance(THIRD)
    expect(held.lost).toBeNull()
    expect(await bench.owners('a')).toEqual(Array(3).fill(held.owner))
  })

  test('does not count before: what stood meanwhile may have had a gap', async () => {
    const { bench, held, other } = await holding(3)
    bench.nodes[0]?.restart()
    await bench.clock.advance(THIRD + 10)
    // Two of three have lost it since the last renewal, and a third party may have held these two.
    bench.nodes[1]?.restart()
    await bench.clock.advance(THIRD)
    expect(held.lost).toBe('missing')
    await bench.clock.advance(300)
    expect(await bench.within(other.tryAcquire(), 300)).not.toBeNull()
  })

  test('that was not reached at the grant is taken in', async () => {
    const bench = new QuorumBench()
    bench.trouble([2], 'acquire', 'refused')
    const held = await bench.within(bench.process().hf.lock('a', { ttl: TTL }).acquire(), 1)
    bench.heal()
    await bench.clock.advance(THIRD + 10)
    expect(await bench.owners('a')).toEqual(Array(3).fill(held.owner))
  })

  test('that is held by another is left to it', async () => {
    const bench = new QuorumBench({ processes: 2 })
    bench.trouble([2], 'acquire', 'refused')
    const held = await bench.within(bench.process().hf.lock('a', { ttl: TTL }).acquire(), 1)
    bench.heal()
    bench.trouble([0, 1], 'acquire', 'swallowed', 1)
    bench.trouble([2], 'release', 'swallowed', 1)
    void bench
      .process(1)
      .hf.lock('a', { ttl: 60_000 })
      .acquire({ wait: 0 })
      .catch(() => {})
    await bench.clock.advance(2 * THIRD)
    const owners = await bench.owners('a')
    expect(owners.slice(0, 2)).toEqual([held.owner, held.owner])
    expect(owners[2]).not.toBe(held.owner)
    expect(held.lost).toBeNull()
  })

  test('is asked for the fence of the hold, so that the next grant is above it', async () => {
    const bench = new QuorumBench({
      nodes: [{ ahead: 60_000 }, {}, { ahead: -60_000 }],
      quorum: { fence: true },
    })
    const held = await bench.within(bench.process().hf.lock('a', { ttl: TTL }).acquire(), 1)
    bench.nodes[2]?.restart()
    await bench.clock.advance(THIRD + 10)
    await bench.within(held.release(), 1)
    bench.trouble([0], 'acquire', 'swallowed', 1)
    const next = await bench.within(bench.process(1).hf.lock('a', { ttl: TTL }).acquire(), 1)
    expect(next.fence).toBeGreaterThan(held.fence)
  })
})

describe('a forced release', () => {
  test('takes the lock on all nodes, and its holder is told at once', async () => {
    const { bench, held } = await holding(3, true)
    const result = await bench.within(bench.process(1).hf.forceRelease('a'), 1)
    expect(result).toMatchObject({ released: true, holder: held.owner })
    expect(result.fence).toBeGreaterThan(held.fence)
    expect(held.lost).toBe('forced')
    expect(await bench.owners('a')).toEqual([null, null, null])
  })

  test('of one node alone is none', async () => {
    const { bench, held } = await holding(3)
    bench.trouble([0, 1], 'force', 'refused', 1)
    await bench.outcomeOf(bench.process(1).hf.forceRelease('a'), 1_050)
    expect(held.lost).toBeNull()
    await bench.clock.advance(THIRD + 10)
    expect(await bench.owners('a')).toEqual(Array(3).fill(held.owner))
  })
})

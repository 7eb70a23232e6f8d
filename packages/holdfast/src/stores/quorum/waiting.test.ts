import { describe, expect, test } from 'vitest'
import type { Held } from '../../lock/held.ts'
import { QuorumBench } from '../../testing/quorum-bench.ts'
import { seededRandomness } from '../../testing/seeded-randomness.ts'
import { VirtualClock } from '../../testing/virtual-clock.ts'
import { Wakes } from './wakes.ts'

describe('waiting', () => {
  test('who waits is woken by the release, and asks once', async () => {
    const bench = new QuorumBench({ nodes: 5 })
    const held = await bench.within(bench.process(0).hf.lock('a').acquire(), 1)
    const waiting = bench.process(1).hf.lock('a').acquire()
    await bench.clock.advance(10)
    const asked = bench.process(1).ways.map((way) => way.count('acquire'))
    await bench.within(held.release(), 1)
    const next = await bench.within(waiting, 1)
    expect(next.owner).not.toBe(held.owner)
    expect(bench.process(1).ways.map((way, i) => way.count('acquire') - (asked[i] ?? 0))).toEqual([
      1, 1, 1, 1, 1,
    ])
  })

  test('an owner that was refused is not asked for again: its release may still be under way', async () => {
    const bench = new QuorumBench()
    const held = await bench.within(bench.process(0).hf.lock('a').acquire(), 1)
    // One node has not got the first hold, and grants to whoever polls; the release of that grant is slow.
    bench.nodes[2]?.restart()
    bench.trouble([2], 'release', { arrivesAfter: 3_000 }, 1)
    const waiting = bench.process(1).hf.lock('a').acquire({ wait: '20s' })
    await bench.clock.advance(2_500)
    await bench.within(held.release(), 1)
    const next = await bench.within(waiting, 5_000)
    await bench.clock.advance(5_000)
    expect(next.lost).toBeNull()
    const owners = await bench.owners('a')
    expect(owners.filter((owner) => owner === next.owner).length).toBeGreaterThanOrEqual(2)
  })

  test('40: ten contenders in lockstep split the vote, and are all served', async () => {
    const bench = new QuorumBench({ nodes: 5, processes: 10 })
    // Each reaches another node first.
    for (let process = 0; process < 10; process += 1) {
      for (let node = 0; node < 5; node += 1)
        bench.trouble([node], 'acquire', { arrivesAfter: 1 + ((node + process) % 5) * 4 }, process)
    }
    let served = 0
    let inside = 0
    const runs = bench.processes.map(({ hf }) =>
      hf.lock('a').run(
        async () => {
          inside += 1
          expect(inside).toBe(1)
          await new Promise<void>((resolve) => void bench.clock.setTimer(resolve, 5))
          inside -= 1
          served += 1
        },
        { wait: '60s' },
      ),
    )
    await bench.within(Promise.all(runs), 20_000)
    expect(served).toBe(10)
  })

  test('A7: whose wait is over leaves nothing behind', async () => {
    const bench = new QuorumBench()
    const held: Held = await bench.within(bench.process(0).hf.lock('a').acquire(), 1)
    const { hf, ways } = bench.process(1)
    await expect(bench.within(hf.lock('a').acquire({ wait: '1s' }), 1_500)).rejects.toMatchObject({
      code: 'LOCK_TIMEOUT',
      holder: held.owner,
    })
    const calls = ways.map((way) => way.calls.length)
    await bench.clock.advance(5_000)
    expect(ways.map((way) => way.calls.length)).toEqual(calls)
  })
})

describe('when to ask again', () => {
  function make(majority = 2) {
    const clock = new VirtualClock()
    const woken: number[] = []
    const began = clock.monotonic()
    const wake = (): void => void woken.push(clock.monotonic() - began)
    const wakes = new Wakes({ clock, randomness: seededRandomness(3), majority, wake })
    return { clock, wakes, woken }
  }

  test('at once when a majority wakes; the others are no news', async () => {
    const { clock, wakes, woken } = make()
    wakes.heard(0, 'a')
    expect(woken).toEqual([])
    wakes.heard(1, 'a')
    wakes.heard(2, 'a')
    await clock.advance(5_000)
    expect(woken).toEqual([0])
    expect(clock.pendingTimers).toBe(0)
  })

  test('a node that wakes again speaks of another release', async () => {
    const { wakes, woken } = make()
    for (const node of [0, 1, 2, 0, 1, 2]) wakes.heard(node, 'a')
    expect(woken).toHaveLength(2)
  })

  test('after a random while when only a minority wakes', async () => {
    const { clock, wakes, woken } = make(3)
    wakes.heard(0, 'a')
    wakes.heard(1, 'a')
    await clock.advance(500)
    expect(woken).toHaveLength(1)
  })

  test('after a split vote at any time within twenty rounds, so that contenders part', async () => {
    const times: number[] = []
    for (let i = 0; i < 200; i += 1) {
      const clock = new VirtualClock()
      const began = clock.monotonic()
      const wake = (): void => void times.push(clock.monotonic() - began)
      const wakes = new Wakes({ clock, randomness: seededRandomness(i), majority: 2, wake })
      wakes.split('a', 10)
      await clock.advance(200)
    }
    expect(times).toHaveLength(200)
    expect(times.filter((time) => time < 50).length).toBeGreaterThan(30)
    expect(times.filter((time) => time > 150).length).toBeGreaterThan(30)
  })

  test('each lock for itself, and nothing after the end', async () => {
    const { clock, wakes, woken } = make()
    wakes.heard(0, 'a')
    wakes.heard(1, 'b')
    wakes.split('c', 1)
    wakes.close()
    await clock.advance(5_000)
    expect(woken).toEqual([])
  })
})

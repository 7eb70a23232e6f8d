import { afterEach, describe, expect, test, vi } from 'vitest'
import { createHoldfast } from '../../holdfast.ts'
import { QuorumBench } from '../../testing/quorum-bench.ts'
import type { Store, StoreContext } from '../../store/contract.ts'
import { memoryStore } from '../memory/index.ts'
import { quorumStore, type QuorumOptions } from './index.ts'

const stores = (count: number): Store[] => Array.from({ length: count }, () => memoryStore())

afterEach(() => vi.restoreAllMocks())

describe('nodes', () => {
  test.each<[string, () => unknown, RegExp]>([
    ['no list', () => quorumStore(memoryStore() as never), /^stores: .* is not a list/],
    ['an empty list', () => quorumStore([]), /^stores: \[\] is empty\. Give three or five/],
    ['one node', () => quorumStore(stores(1)), /^stores: "one store" is no quorum/],
    ['too many', () => quorumStore(stores(16)), /^stores: "16 stores" are more than 15/],
    [
      'no store',
      () => quorumStore([memoryStore(), {} as Store, memoryStore()]),
      /^stores\[1\]: .*is not a store/,
    ],
    [
      'a quorum of quorums',
      () => quorumStore([memoryStore(), quorumStore(stores(3)), memoryStore()]),
      /^stores\[1\]: "a quorum" cannot be a node/,
    ],
  ])('%s: is refused', (_what, make, message) => {
    expect(make).toThrow(message)
  })

  test('B5: the same store twice is refused at once', () => {
    const one = memoryStore()
    expect(() => quorumStore([one, memoryStore(), one])).toThrow(/^stores\[2\]: "stores\[0\]" is there twice/)
  })

  test('an even number is warned of, an odd one is not', () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    quorumStore(stores(3))
    quorumStore(stores(5))
    expect(warn).not.toHaveBeenCalled()
    quorumStore(stores(4))
    expect(warn.mock.calls).toEqual([
      [
        'A quorum of 4 nodes needs 3 of them, and outlives no more failures than one of 3.',
        expect.objectContaining({ code: 'HOLDFAST_EVEN_QUORUM' }),
      ],
    ])
  })

  test('all are opened with the same prefixes, and under the name of the whole', () => {
    const contexts: StoreContext[] = []
    const names: string[] = []
    const watched = stores(3).map((store) => ({
      ...store,
      open: (context: StoreContext) => {
        contexts.push(context)
        const opened = store.open(context)
        names.push(opened.locks.process)
        return opened
      },
    }))
    createHoldfast({ store: quorumStore(watched), prefix: 'new:v1', alsoPrefix: 'old:v1' })
    expect(contexts.map(({ prefixes }) => prefixes)).toEqual(Array(3).fill(['old:v1', 'new:v1']))
    expect(new Set(names).size).toBe(1)
  })
})

describe('options', () => {
  test.each<[QuorumOptions, RegExp]>([
    [{ nodeBudget: '1ms' }, /^nodeBudget: /],
    [{ nodeBudget: '11s' }, /^nodeBudget: /],
    [{ drift: 0.001 }, /^drift: 0\.001 is not a number from 0\.01 to 0\.5/],
    [{ drift: NaN }, /^drift: /],
    [{ fence: 'yes' as never }, /^fence: "yes" is not a boolean/],
    [{ nodeBudgets: 5 } as never, /Did you mean "nodeBudget"/],
  ])('%o: is refused', (options, message) => {
    expect(() => quorumStore(stores(3), options)).toThrow(message)
  })

  test('fences need nodes that can take part in them', () => {
    const unable: Store = {
      ...memoryStore(),
      kind: 'other',
      open: (context) => {
        const opened = memoryStore().open(context)
        return { ...opened, locks: Object.create(opened.locks, { raise: { value: undefined } }) as never }
      },
    }
    let open = 0
    const counted = [memoryStore(), unable, memoryStore()].map((store) => ({
      ...store,
      open: (context: StoreContext) => {
        const opened = store.open(context)
        open += 1
        const close = (): Promise<void> => {
          open -= 1
          return opened.close()
        }
        return { ...opened, close }
      },
    }))
    const store = quorumStore(counted, { fence: true })
    expect(() => createHoldfast({ store })).toThrow(/^fence: true is set, but stores\[1\] \(other\) cannot/)
    // Their listeners would stay with the clients.
    expect(open).toBe(0)
  })

  test('a ttl that is not longer than a grant may take is refused before anything is sent', async () => {
    const bench = new QuorumBench({ quorum: { nodeBudget: '200ms', fence: true } })
    const { hf, ways } = bench.process()
    await expect(hf.lock('a', { ttl: 600 }).tryAcquire()).rejects.toThrow(/^ttl: 600 is not longer .*600 ms/)
    await expect(hf.lock('a', { ttl: 600 }).acquire()).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    expect(ways.map((way) => way.count('acquire'))).toEqual([0, 0, 0])
    expect(await hf.lock('a', { ttl: 610 }).tryAcquire()).not.toBeNull()
  })
})

describe('what it offers', () => {
  test('traits: fences only if asked for, and as little as its nodes', () => {
    expect(quorumStore(stores(3)).traits).toEqual({
      fences: 'none',
      wake: 'push',
      clock: 'machine',
      durable: 'process',
    })
    expect(quorumStore(stores(3), { fence: true }).traits.fences).toBe('clocked')
    const polled = { ...memoryStore(), traits: { ...memoryStore().traits, wake: 'poll' as const } }
    expect(quorumStore([memoryStore(), polled, memoryStore()]).traits.wake).toBe('poll')
  })

  test('no limits and no idempotency: they are refused, with what to do', async () => {
    const { hf } = new QuorumBench().process()
    const policy = { kind: 'fixed-window', name: 'w', limit: 1, per: 1_000 } as const
    expect(() => hf.limiter('l', policy, { onStoreError: 'allow' })).toThrow(/store: "quorum" has no limits/)
    expect(() => hf.idempotency('o', { onStoreError: 'run' })).toThrow(/has no idempotency/)
  })

  test('closing gives back, and closes the nodes', async () => {
    const bench = new QuorumBench()
    const { hf, ways } = bench.process()
    await hf.lock('a').acquire()
    await bench.within(hf.close(), 2_000)
    expect(await bench.owners('a')).toEqual([null, null, null])
    expect(ways.map((way) => way.count('release'))).toEqual([1, 1, 1])
  })
})

describe('independence', () => {
  const server = (name: string, copies: string | null = null, dependent: string | null = null) => ({
    identity: { server: name, copies, dependent },
  })

  test.each([
    ['one server by two addresses', [server('a'), server('b'), server('a')], /nodes 0 and 2" are one server/],
    [
      'a primary with its replica',
      [server('a', 'data'), server('b', 'data'), server('c', 'other')],
      /nodes 0 and 1" hold copies of the same data/,
    ],
    [
      'nodes of a cluster',
      [server('a'), server('b', null, 'is a node of a cluster'), server('c')],
      /node 1" is a node of a cluster/,
    ],
  ])('B5: %s: is refused at first use, with nothing left behind', async (_what, nodes, message) => {
    const bench = new QuorumBench({ nodes })
    const { hf } = bench.process()
    await expect(bench.within(hf.lock('a').tryAcquire(), 500)).rejects.toThrow(message)
    await expect(bench.within(hf.lock('a').acquire(), 500)).rejects.toThrow(message)
    expect(await bench.owners('a')).toEqual([null, null, null])
  })

  test('servers that are apart are asked once', async () => {
    const bench = new QuorumBench({ nodes: [server('a', 'x'), server('b', 'y'), server('c', 'z')] })
    const { hf } = bench.process()
    for (let i = 0; i < 3; i += 1) await (await bench.within(hf.lock('a').acquire(), 100)).release()
  })

  test('a node that comes later and is one that is there already has no say', async () => {
    const bench = new QuorumBench({ nodes: [server('a'), server('b'), server('a')] })
    const late = bench.nodes[2]
    const { hf } = bench.process()
    // It is silent at first.
    if (late !== undefined) late.silentUntil = bench.clock.monotonic() + 300
    const held = await bench.within(hf.lock('a').acquire(), 300)
    await bench.within(held.release(), 300)
    const outcome = await bench.outcomeOf(hf.lock('a').acquire(), 1_000)
    const again = await bench.outcomeOf(hf.lock('a').acquire(), 1_000)
    expect([outcome, again].some((each) => 'error' in each)).toBe(true)
  })
})

import assert from 'node:assert/strict'
import { bounds } from '../defaults.ts'
import type { StoreTraits } from '../store/contract.ts'
import { JOIN, YIELD, type CaseOutline, type Party, type Scene } from './contract-scene.ts'

const pushes = (traits: StoreTraits): boolean => traits.wake === 'push'
/** Longer than any case: the lock of a holder who is not to expire. */
const LONG_MS = 60_000
/** Past the time after which a waiter without a sign of life is dead. */
const DEAD_MS = bounds.waiterDeadAfter + 500
/** Past the time after which a sign of life is due. */
const BEAT_MS = bounds.heartbeat + 100

/** The processes of a queue case: one holds and releases again and again, others wait. */
async function holderAndWaiters(scene: Scene): Promise<{ holder: Party; first: Party; second: Party }> {
  const [holder, first, second] = [
    await scene.openListening(),
    await scene.openListening(),
    await scene.openListening(),
  ]
  return { holder, first, second }
}

/** Releases the lock and takes it again before anyone else can; tells whether another was woken. */
async function releaseAndRetake(holder: Party, owner: string): Promise<{ woke: boolean; owner: string }> {
  const next = holder.owner()
  const result = await holder.release(owner)
  assert.ok(result.kind === 'released')
  await holder.grant(next, { ttl: LONG_MS })
  return { woke: result.wokeOther, owner: next }
}

async function assertWoken(scene: Scene, party: Party, times: number): Promise<void> {
  await scene.eventually(() => party.heard.wakes.length >= times, 'the waiter is woken')
  assert.deepEqual(
    party.heard.wakes,
    Array.from({ length: times }, () => scene.lock.key),
  )
}

const standing: readonly CaseOutline[] = [
  {
    name: 'queue: who is busy and wants to joins once for its process, who does not want to stays out',
    run: async (scene) => {
      const [holder, first, second] = [await scene.open(), await scene.open(), await scene.open()]
      await holder.grant(holder.owner())
      await first.acquire(first.owner())
      assert.equal((await holder.record()).waiters, 0)
      await first.join()
      await first.join()
      assert.equal((await holder.record()).waiters, 1)
      await second.join()
      assert.equal((await holder.record()).waiters, 2)
    },
  },
  {
    name: 'queue: a grant takes the entry of its own process out, and only that',
    run: async (scene) => {
      const [holder, first, second] = [await scene.open(), await scene.open(), await scene.open()]
      const owner = holder.owner()
      await holder.grant(owner)
      await first.join()
      await second.join()
      await holder.release(owner)
      await first.grant(first.owner(), { queue: JOIN })
      assert.equal((await holder.record()).waiters, 1)
    },
  },
  {
    name: 'queue: leaving takes the entry out; leaving without one does nothing',
    run: async (scene) => {
      const [holder, first] = [await scene.open(), await scene.open()]
      await holder.grant(holder.owner())
      await first.leave()
      await first.join()
      await first.leave()
      await first.leave()
      assert.equal((await holder.record()).waiters, 0)
    },
  },
  {
    name: "queue: who yields lets others go first, while they live, and does not yield to its own process's entry",
    run: async (scene) => {
      const [holder, waiter] = [await scene.open(), await scene.open()]
      const owner = holder.owner()
      await holder.grant(owner, { ttl: LONG_MS })
      await waiter.join()
      await holder.release(owner)
      assert.deepEqual(await holder.acquire(holder.owner(), { queue: YIELD }), { kind: 'busy', holder: null })
      assert.equal(
        (await waiter.acquire(waiter.owner(), { queue: { ...JOIN, yield: true } })).kind,
        'granted',
      )
    },
  },
  {
    name: 'queue: nobody yields to an empty queue or to the dead',
    run: async (scene) => {
      const [holder, waiter] = [await scene.open(), await scene.open()]
      const [early, late] = [holder.owner(), holder.owner()]
      await holder.grant(early, { ttl: LONG_MS, queue: YIELD })
      await waiter.join()
      await holder.release(early)
      await scene.bench.pass(DEAD_MS)
      await holder.grant(late, { ttl: LONG_MS, queue: YIELD })
    },
  },
  {
    name: 'queue: a store that has to be asked wakes nobody, and does not hold up a release for who has just come',
    needs: (traits) => traits.wake === 'poll',
    run: async (scene) => {
      const [holder, waiter] = [await scene.open(), await scene.open()]
      const owner = holder.owner()
      waiter.locks.attend(true)
      const before = (await holder.acquireAnswer(owner)).serverTime
      await waiter.join()
      const { result, serverTime } = await holder.locks.release(
        { address: scene.lock, owner },
        scene.attempt(),
      )
      assert.equal(result.kind, 'released')
      // On a machine so busy that it takes longer it is the waiter's turn.
      if (serverTime - before < bounds.patience)
        assert.deepEqual(result, { kind: 'released', wokeOther: false })
      await scene.pass(2)
      assert.deepEqual(waiter.heard.wakes, [])
    },
  },
]

const waking: readonly CaseOutline[] = [
  {
    name: 'wake: a release wakes the first in the queue, and only it',
    needs: pushes,
    run: async (scene) => {
      const { holder, first, second } = await holderAndWaiters(scene)
      const owner = holder.owner()
      await holder.grant(owner)
      await first.join()
      await second.join()
      assert.deepEqual(await holder.release(owner), { kind: 'released', wokeOther: true })
      await assertWoken(scene, first, 1)
      await scene.pass(2)
      assert.deepEqual([holder.heard.wakes, second.heard.wakes], [[], []])
    },
  },
  {
    name: 'wake: who was woken and gave a sign of life keeps its place; who gave none is skipped',
    needs: pushes,
    run: async (scene) => {
      const { holder, first, second } = await holderAndWaiters(scene)
      let owner = holder.owner()
      await holder.grant(owner, { ttl: LONG_MS })
      await first.join()
      await second.join()
      owner = (await releaseAndRetake(holder, owner)).owner
      await assertWoken(scene, first, 1)
      await first.join()
      owner = (await releaseAndRetake(holder, owner)).owner
      await assertWoken(scene, first, 2)
      const { woke } = await releaseAndRetake(holder, owner)
      assert.equal(woke, true)
      await assertWoken(scene, second, 1)
      assert.equal(first.heard.wakes.length, 2)
    },
  },
  {
    name: 'wake: a process is never woken by its own release, the next one behind it is',
    needs: pushes,
    run: async (scene) => {
      const { holder, first } = await holderAndWaiters(scene)
      let owner = holder.owner()
      await holder.grant(owner, { ttl: LONG_MS })
      await holder.join()
      const alone = await releaseAndRetake(holder, owner)
      assert.equal(alone.woke, false)
      owner = alone.owner
      await first.join()
      assert.equal((await releaseAndRetake(holder, owner)).woke, true)
      await assertWoken(scene, first, 1)
      assert.deepEqual(holder.heard.wakes, [])
    },
  },
  {
    name: 'wake: the dead are passed over',
    needs: pushes,
    run: async (scene) => {
      const { holder, first, second } = await holderAndWaiters(scene)
      const owner = holder.owner()
      await holder.grant(owner, { ttl: LONG_MS })
      await first.join()
      await scene.bench.pass(DEAD_MS)
      await second.join()
      assert.deepEqual(await holder.release(owner), { kind: 'released', wokeOther: true })
      await assertWoken(scene, second, 1)
      assert.deepEqual(first.heard.wakes, [])
    },
  },
  {
    name: 'wake: who gives signs of life stays in its place however long it waits',
    needs: pushes,
    run: async (scene) => {
      const { holder, first, second } = await holderAndWaiters(scene)
      const owner = holder.owner()
      await holder.grant(owner, { ttl: LONG_MS })
      await first.join()
      await second.join()
      for (let waited = 0; waited < DEAD_MS; waited += BEAT_MS) {
        await scene.bench.pass(BEAT_MS)
        await second.join()
        await first.join()
      }
      assert.deepEqual(await holder.release(owner), { kind: 'released', wokeOther: true })
      await assertWoken(scene, first, 1)
      assert.deepEqual(second.heard.wakes, [])
    },
  },
  {
    name: 'wake: leaving while the lock is free wakes the next, leaving while it is held does not',
    needs: pushes,
    run: async (scene) => {
      const { holder, first, second } = await holderAndWaiters(scene)
      const third = await scene.openListening()
      const owner = holder.owner()
      await holder.grant(owner, { ttl: LONG_MS })
      for (const waiter of [first, second, third]) await waiter.join()
      await first.leave()
      await scene.pass(2)
      assert.deepEqual([second.heard.wakes, third.heard.wakes], [[], []])
      await holder.release(owner)
      await assertWoken(scene, second, 1)
      await second.leave()
      await assertWoken(scene, third, 1)
      assert.deepEqual(first.heard.wakes, [])
    },
  },
  {
    name: 'wake: a forced release wakes the first in the queue',
    needs: pushes,
    run: async (scene) => {
      const { holder, first, second } = await holderAndWaiters(scene)
      const operator = await scene.open()
      const owner = holder.owner()
      await holder.grant(owner)
      await first.join()
      await second.join()
      await operator.force(owner)
      await assertWoken(scene, first, 1)
      await scene.pass(1)
      assert.deepEqual(second.heard.wakes, [])
    },
  },
  {
    name: 'wake: locks are told apart',
    needs: pushes,
    run: async (scene) => {
      const { holder, first, second } = await holderAndWaiters(scene)
      const [one, two] = [scene.address('one'), scene.address('two')]
      const [ownerOfOne, ownerOfTwo] = [holder.owner(), holder.owner()]
      await holder.grant(ownerOfOne, { address: one })
      await holder.grant(ownerOfTwo, { address: two })
      await first.join(one)
      await second.join(two)
      await holder.release(ownerOfTwo, two)
      await scene.eventually(() => second.heard.wakes.length > 0, 'the waiter of that lock is woken')
      assert.deepEqual([first.heard.wakes, second.heard.wakes], [[], [two.key]])
    },
  },
]

export const queueCases: readonly CaseOutline[] = [...standing, ...waking]

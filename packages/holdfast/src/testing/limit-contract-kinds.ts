import assert from 'node:assert/strict'
import type { PolicyKind } from '../store/limit/policy.ts'
import {
  assertAdmitted,
  assertDenied,
  KINDS,
  LONG,
  only,
  policyOf,
  type LimitCaseOutline,
  type LimitScene,
} from './limit-contract-scene.ts'

const PARALLEL = 1_000

/** Cases that every kind of policy has to meet. */
const demands: readonly { name: string; run: (scene: LimitScene, kind: PolicyKind) => Promise<void> }[] = [
  {
    name: 'E4: admits up to its limit and tells what is left; a denied cost counts nothing',
    run: async (scene, kind) => {
      const one = await scene.open()
      const policies = [policyOf(kind, 10, LONG)]
      assertAdmitted(await one.take(policies, 3), 7)
      assertDenied(await one.take(policies, 8), 7)
      assertAdmitted(await one.take(policies, 1), 6)
      assertAdmitted(await one.take(policies, 6), 0)
      assertDenied(await one.take(policies, 1), 0)
      assertDenied(await one.take(policies, 10), 0)
    },
  },
  {
    name: 'E6: a cost above the capacity is told as never, counts nothing, and the next passes',
    run: async (scene, kind) => {
      const one = await scene.open()
      const policies = [policyOf(kind, 10, LONG)]
      assertAdmitted(await one.take(policies, 8), 2)
      for (const cost of [11, 1_000_000, 2 ** 31 - 1]) {
        for (const countDenied of [false, true]) {
          const verdict = await one.take(policies, cost, { countDenied })
          const { allowed, never, retryAfter, remaining } = only(verdict)
          assert.deepEqual([allowed, never, retryAfter, remaining], [false, true, 0, 2])
          assert.equal(verdict.allowed, false)
        }
      }
      assertAdmitted(await one.take(policies, 1), 1)
    },
  },
  {
    name: 'E5: a denied take counts as far as it fits, if asked for; slots never',
    run: async (scene, kind) => {
      const one = await scene.open()
      const policies = [policyOf(kind, 10, LONG)]
      assertAdmitted(await one.take(policies, 8, { countDenied: true }), 2)
      assertDenied(await one.take(policies, 5), 2)
      assertDenied(await one.take(policies, 5, { countDenied: true }), kind === 'concurrency' ? 2 : 0)
      if (kind !== 'concurrency') assertDenied(await one.take(policies, 1), 0)
    },
  },
  {
    name: 'E11: a retry at retryAfter passes, and none before it',
    run: async (scene, kind) => {
      const one = await scene.open()
      const policies = [policyOf(kind, 4, scene.units(8))]
      for (let i = 0; i < 4; i += 1) await one.take(policies)
      const denied = await one.take(policies, 2)
      // A slow machine may have let some of it pass.
      if (denied.allowed) return
      const due = denied.at + only(denied).retryAfter
      for (const time of [due - 1, due]) {
        await scene.reach(time, one)
        const again = await one.peek(policies, 2)
        assert.equal(again.allowed, again.at >= due, `${again.at - due} ms after it was due`)
        if (!again.allowed) assert.equal(again.at + only(again).retryAfter, due)
      }
      assert.equal((await one.take(policies, 2)).allowed, true)
    },
  },
  {
    name: 'E12: peek says what take is answered, and counts nothing',
    run: async (scene, kind) => {
      const one = await scene.open()
      const policies = [policyOf(kind, 10, LONG)]
      for (const cost of [3, 8, 11, 6, 1, 2]) {
        const peeked = [await one.peek(policies, cost), await one.peek(policies, cost)]
        const taken = await one.take(policies, cost)
        for (const verdict of peeked) {
          const passed = taken.at - verdict.at
          const [before, after] = [only(verdict), only(taken)]
          assert.deepEqual(
            [verdict.allowed, before.never, before.remaining],
            [taken.allowed, after.never, after.remaining],
          )
          for (const key of ['retryAfter', 'resetAfter', 'delay'] as const) {
            const gone = before[key] - after[key]
            // A lease, and a window's end, begin with the take.
            assert.ok(Math.abs(gone) <= passed, `${key} was ${before[key]}, then ${after[key]}`)
          }
        }
      }
    },
  },
  {
    name: 'E16: a refund gives back that much, and never more than there is',
    run: async (scene, kind) => {
      const one = await scene.open()
      const policies = [policyOf(kind, 10, LONG)]
      const first = await one.take(policies, 6)
      const second = await one.take(policies, 4)
      assert.equal(await one.adjust(policies, first, 1), true)
      assertAdmitted(await one.take(policies, 5), 0)
      assert.equal(await one.adjust(policies, second, 0), true)
      assertAdmitted(await one.take(policies, 4), 0)
      assertDenied(await one.take(policies, 1), 0)
    },
  },
  {
    name: 'adjust: what cost more than was taken counts, even beyond the limit',
    run: async (scene, kind) => {
      const one = await scene.open()
      const policies = [policyOf(kind, 10, LONG)]
      const taken = await one.take(policies, 2)
      assert.equal(await one.adjust(policies, taken, 7), true)
      assertAdmitted(await one.take(policies, 1), 2)
      assert.equal(await one.adjust(policies, { ...taken, cost: 7 }, 12), true)
      assertDenied(await one.take(policies, 1), 0)
      assert.equal(await one.adjust(policies, { ...taken, cost: 12 }, 0), true)
      assertAdmitted(await one.take(policies, 9), 0)
    },
  },
  {
    name: 'E16: a refund whose take is over changes nothing',
    run: async (scene, kind) => {
      const one = await scene.open()
      const per = scene.units(4)
      const policies = [policyOf(kind, 4, per)]
      const old = await one.take(policies, 4)
      // The counter's window counts on in the one after it.
      await scene.reach(old.at + 2 * per, one)
      assert.equal(await one.adjust(policies, old, 0), false)
      await one.take(policies, 4)
      assert.equal(await one.adjust(policies, old, 0), false)
      const late = await one.peek(policies, 4)
      // Unless a slow machine has let the second pass as well.
      if (late.at < old.at + 2 * per + per / 8) assert.equal(late.allowed, false)
    },
  },
  {
    name: 'reset: forgets all usage',
    run: async (scene, kind) => {
      const one = await scene.open()
      const policies = [policyOf(kind, 10, LONG)]
      const taken = await one.take(policies, 10)
      await one.reset(policies)
      assert.equal(await one.adjust(policies, taken, 0), false)
      assertAdmitted(await one.take(policies, 10), 0)
    },
  },
  {
    name: 'E19: usage carries over when the limit is raised or lowered',
    run: async (scene, kind) => {
      const one = await scene.open()
      const [ten, twenty, five] = [10, 20, 5].map((limit) => [policyOf(kind, limit, LONG)])
      assert.ok(ten !== undefined && twenty !== undefined && five !== undefined)
      const first = await one.take(ten, 8)
      assertAdmitted(await one.take(twenty, 2), 10)
      assertDenied(await one.take(ten, 1), 0)
      assertDenied(await one.take(five, 1), 0)
      await one.adjust(five, first, 0)
      assertAdmitted(await one.take(five, 3), 0)
      assertAdmitted(await one.take(twenty, 15), 0)
    },
  },
  {
    name: 'E25: of 1000 takes at once, by two processes, exactly the limit passes',
    run: async (scene, kind) => {
      const [one, two] = [await scene.open(), await scene.open()]
      const policies = [policyOf(kind, 5, LONG)]
      const verdicts = await Promise.all(
        Array.from({ length: PARALLEL }, (_, i) => (i % 2 === 0 ? one : two).take(policies)),
      )
      assert.equal(verdicts.filter(({ allowed }) => allowed).length, 5)
    },
  },
  {
    name: 'E13: a thousand takes in one turn count as a thousand',
    run: async (scene, kind) => {
      const one = await scene.open()
      const policies = [policyOf(kind, PARALLEL, LONG)]
      const verdicts = await Promise.all(Array.from({ length: PARALLEL }, () => one.take(policies)))
      assert.equal(verdicts.filter(({ allowed }) => allowed).length, PARALLEL)
      assert.equal(new Set(verdicts.map((verdict) => only(verdict).remaining)).size, PARALLEL)
      assertDenied(await one.take(policies), 0)
    },
  },
  {
    name: 'expiry: when nothing counts any more all of it passes, and nothing is left',
    run: async (scene, kind) => {
      const one = await scene.open()
      const policies = [policyOf(kind, 5, scene.units(4))]
      const taken = await one.take(policies, 5)
      await scene.reach(taken.at + only(taken).resetAfter, one)
      assert.equal(only(await one.peek(policies, 5)).allowed, true)
      assertAdmitted(await one.take(policies, 5), 0)
    },
  },
  {
    name: 'E22: a take asked again is answered the same and counts once; so is an adjust',
    run: async (scene, kind) => {
      const one = await scene.open()
      const policies = [policyOf(kind, 10, LONG)]
      const id = scene.id()
      const first = await one.take(policies, 4, { id })
      assertAdmitted(first, 6)
      assertAdmitted(await one.take(policies, 1), 5)
      assert.deepEqual(await one.take(policies, 4, { id }), first)
      assertAdmitted(await one.take(policies, 1), 4)
      const change = scene.id()
      assert.equal(await one.adjust(policies, first, 1, { id: change }), true)
      assert.equal(await one.adjust(policies, first, 1, { id: change }), true)
      assertAdmitted(await one.take(policies, 1), 6)
    },
  },
  {
    name: 'E22: asked many times in one turn with one id it counts once',
    run: async (scene, kind) => {
      const one = await scene.open()
      const policies = [policyOf(kind, 10, LONG)]
      const id = scene.id()
      const same = await Promise.all(Array.from({ length: 5 }, () => one.take(policies, 1, { id })))
      for (const verdict of same) assertAdmitted(verdict, 9)
      assertAdmitted(await one.take(policies, 1), 8)
    },
  },
  {
    name: 'late: a take after its time counts nothing',
    run: async (scene, kind) => {
      const one = await scene.open()
      const policies = [policyOf(kind, 10, LONG)]
      const taken = await one.take(policies, 2)
      const late = () => ({ attempt: scene.attempt(-scene.units(1)) })
      assert.equal((await one.tryTake(policies, 3, late())).result.kind, 'late')
      assert.equal((await one.tryTake(policies, 11, { ...late(), countDenied: true })).result.kind, 'late')
      assert.equal((await one.tryAdjust(policies, taken, 0, late())).result.kind, 'late')
      assertAdmitted(await one.take(policies, 1), 7)
    },
  },
]

export const kindCases: readonly LimitCaseOutline[] = KINDS.flatMap((kind) =>
  demands.map(({ name, run }) => ({
    name: `${kind}: ${name}`,
    run: (scene: LimitScene) => run(scene, kind),
  })),
)

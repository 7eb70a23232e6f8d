import assert from 'node:assert/strict'
import { Attempt } from '../store/attempt.ts'
import type { Policy } from '../store/limit/policy.ts'
import {
  assertAdmitted,
  assertDenied,
  KINDS,
  LONG,
  only,
  policyOf,
  type LimitCaseOutline,
} from './limit-contract-scene.ts'

/** Room for what passes between two calls. */
const GENEROUS = 60
const MANY = 300

const HOSTILE = [
  '{}',
  '*',
  'a{',
  '}b{',
  'a|b',
  '%7B',
  'new\nline\ttab\0nul',
  '  spaces  ',
  "'; DROP TABLE holdfast_limit; --",
  '%_*?[a-z]',
  '__proto__',
  'constructor',
  'Ünïcödé 锁 🔒',
  ':limit',
  'x'.repeat(10_240),
  `${'x'.repeat(10_239)}y`,
]

const several: readonly LimitCaseOutline[] = [
  {
    name: 'E3: several policies: all or nothing; the one that refuses is told, and no other counts',
    run: async (scene) => {
      const one = await scene.open()
      const policies = [
        policyOf('sliding-window', 1, LONG, 'tight'),
        policyOf('sliding-window', 100, LONG, 'wide'),
      ]
      assert.equal((await one.take(policies)).allowed, true)
      for (let i = 0; i < 4; i += 1) {
        const denied = await one.take(policies)
        assert.equal(denied.allowed, false)
        const [tight, wide] = denied.policies
        assert.deepEqual([tight?.allowed, tight?.remaining], [false, 0])
        assert.ok((tight?.retryAfter ?? 0) > LONG / 2)
        assert.deepEqual([wide?.allowed, wide?.remaining, wide?.retryAfter], [true, 99, 0])
      }
    },
  },
  {
    name: 'E3: policies of all kinds, each in turn the one that refuses: the others stay as they were',
    run: async (scene) => {
      const one = await scene.open()
      for (const tight of KINDS) {
        const policies = KINDS.map((kind) => policyOf(kind, kind === tight ? 3 : 9, LONG))
        const left = (verdict: { policies: readonly { remaining: number }[] }): number[] =>
          verdict.policies.map(({ remaining }) => remaining)
        const expected = (used: number): number[] => KINDS.map((kind) => (kind === tight ? 3 : 9) - used)
        const wish = { subject: `refused by ${tight}` }
        assert.deepEqual(left(await one.take(policies, 2, wish)), expected(2))
        const denied = await one.take(policies, 2, wish)
        assert.deepEqual([denied.allowed, left(denied)], [false, expected(2)])
        const never = await one.take(policies, 4, { ...wish, countDenied: true })
        assert.deepEqual(
          never.policies.map((verdict) => verdict.never),
          KINDS.map((kind) => kind === tight),
        )
        assert.deepEqual(left(await one.take(policies, 1, wish)), expected(3))
      }
    },
  },
  {
    name: 'E5: several policies with countDenied: each counts what fits of a denied take, slots nothing',
    run: async (scene) => {
      const one = await scene.open()
      const policies = KINDS.map((kind) => policyOf(kind, kind === 'fixed-window' ? 3 : 9, LONG))
      await one.take(policies, 2, { countDenied: true })
      const denied = await one.take(policies, 3, { countDenied: true })
      assert.equal(denied.allowed, false)
      assert.deepEqual(
        denied.policies.map(({ remaining }) => remaining),
        KINDS.map((kind) => (kind === 'fixed-window' ? 0 : kind === 'concurrency' ? 7 : 4)),
      )
    },
  },
  {
    name: 'a policy of another kind under the same name begins anew',
    run: async (scene) => {
      const one = await scene.open()
      for (const [i, kind] of KINDS.entries()) {
        const policies = [policyOf(kind, 10, LONG, 'one name')]
        assertAdmitted(await one.take(policies, 4 + i), 6 - i, kind)
        assertDenied(await one.take(policies, 7), 6 - i, kind)
      }
    },
  },
]

const blocking: readonly LimitCaseOutline[] = [
  {
    name: 'E17: block: refuses all, counts nothing, is seen by peek, and no call moves its end',
    run: async (scene) => {
      const [one, two] = [await scene.open(), await scene.open()]
      const policies = KINDS.map((kind) => policyOf(kind, 9, LONG))
      await one.take(policies)
      const before = await one.now()
      await one.block(policies, scene.units(GENEROUS))
      const until = (await one.now()) + scene.units(GENEROUS)
      const verdicts = [
        await two.peek(policies),
        await two.take(policies),
        await one.take(policies, 8, { countDenied: true }),
        await two.take(policies, 10),
      ]
      await one.reset(policies)
      verdicts.push(await two.peek(policies))
      for (const { allowed, blockedFor, at } of verdicts) {
        assert.equal(allowed, false)
        assert.ok(
          blockedFor > 0 && at + blockedFor >= before + scene.units(GENEROUS) && at + blockedFor <= until,
        )
      }
      assert.equal(new Set(verdicts.map(({ blockedFor, at }) => at + blockedFor)).size, 1)
      await one.block(policies, 0)
      const after = await two.take(policies)
      assert.deepEqual([after.allowed, after.blockedFor], [true, 0])
      assert.ok(after.policies.every(({ remaining }) => remaining === 8))
    },
  },
  {
    name: 'E17: block: ends by itself; another one replaces it; usage stays',
    run: async (scene) => {
      const one = await scene.open()
      const policies = [policyOf('fixed-window', 9, LONG)]
      await one.take(policies, 4)
      await one.block(policies, LONG)
      await one.block(policies, scene.units(2))
      const { allowed, at, blockedFor } = await one.peek(policies)
      if (!allowed) {
        assert.ok(blockedFor <= scene.units(2))
        await scene.reach(at + blockedFor - 1, one)
        const last = await one.peek(policies)
        assert.equal(last.allowed, last.at >= at + blockedFor)
        await scene.reach(at + blockedFor, one)
      }
      assertAdmitted(await one.take(policies), 4)
    },
  },
]

const reserving: readonly LimitCaseOutline[] = [
  {
    name: 'reservation: one that nobody settles is given back at its end, not before',
    run: async (scene) => {
      const one = await scene.open()
      const policies = KINDS.map((kind) => policyOf(kind, 9, LONG))
      const { at } = await one.take(policies, 6, { returnAfter: scene.units(4) })
      const early = await one.peek(policies, 4)
      assert.equal(early.allowed, early.at >= at + scene.units(4))
      await scene.reach(at + scene.units(4), one)
      assert.equal((await one.peek(policies, 9)).allowed, true)
      const taken = await one.take(policies, 1)
      assert.deepEqual(
        taken.policies.map(({ remaining }) => remaining),
        KINDS.map(() => 8),
      )
    },
  },
  {
    name: 'reservation: one that was settled, for less or more, stays so; slots end with their lease',
    run: async (scene) => {
      const one = await scene.open()
      for (const actual of [4, 6, 8]) {
        const policies = [policyOf('sliding-window', 9, LONG), policyOf('token-bucket', 9, LONG)]
        const wish = { subject: `settled at ${actual}` }
        const reserved = await one.take(policies, 6, { ...wish, returnAfter: scene.units(4) })
        const settled = await one.adjust(policies, reserved, actual, wish)
        await scene.reach(reserved.at + scene.units(4), one)
        const { policies: verdicts, at } = await one.peek(policies, 9, wish)
        // A slow machine may have come too late to settle.
        if (!settled && at >= reserved.at + scene.units(4)) continue
        assert.deepEqual(
          [settled, ...verdicts.map(({ remaining }) => remaining)],
          [true, 9 - actual, 9 - actual],
        )
      }
    },
  },
  {
    name: 'E22: an adjust whose try came late in its budget is remembered for as long as it may be asked again',
    run: async (scene) => {
      const one = await scene.open()
      const policies = [policyOf('token-bucket', 10, LONG)]
      const taken = await one.take(policies, 4)
      await one.take(policies, 4)
      const [id, now] = [scene.id(), scene.bench.clock.monotonic()]
      const until = (units: number): number => now + scene.units(units)
      const attempt = new Attempt(until(20), until(400), until(400))
      assert.equal(await one.adjust(policies, taken, 1, { id, attempt }), true)
      await scene.pass(44)
      assert.equal(await one.adjust(policies, taken, 1, { id }), true)
      assertAdmitted(await one.take(policies, 1), 4)
    },
  },
  {
    name: 'reservation: settled too late it is over: nothing is given back twice, or taken again',
    run: async (scene) => {
      const one = await scene.open()
      const policies = [
        policyOf('sliding-window', 9, LONG),
        policyOf('token-bucket', 9, LONG),
        policyOf('fixed-window', 9, LONG),
      ]
      const reserved = await one.take(policies, 6, { returnAfter: scene.units(2) })
      await scene.reach(reserved.at + scene.units(2), one)
      await one.take(policies, 5)
      for (const actual of [0, 2, 6, 8]) assert.equal(await one.adjust(policies, reserved, actual), false)
      const { policies: verdicts } = await one.take(policies, 1)
      assert.deepEqual(
        verdicts.map(({ remaining }) => remaining),
        [3, 3, 3],
      )
    },
  },
]

const slots: readonly LimitCaseOutline[] = [
  {
    name: 'concurrency: a slot lasts its lease, longer when it is renewed, and is missing afterwards',
    run: async (scene) => {
      const [one, two] = [await scene.open(), await scene.open()]
      const { policies, kept, left } = await scene.pace.inTime(async (by) => {
        const full = [policyOf('concurrency', 2, scene.units(6))]
        const both = { policies: full, kept: await one.take(full), left: await two.take(full) }
        const third = await one.take(full)
        by(6)
        assertDenied(third, 0)
        return both
      })
      await scene.reach(kept.at + scene.units(4), one)
      const renewed = await two.renew(policies, kept.id)
      await scene.reach(left.at + scene.units(6), one)
      const now = await one.peek(policies, 2)
      assert.equal(await one.renew(policies, left.id), 'missing')
      if (renewed === 'renewed' && now.at < kept.at + scene.units(10)) assertDenied(now, 1)
      await scene.reach(now.at + only(now).resetAfter, one)
      assert.equal(await one.renew(policies, kept.id), 'missing')
      assertAdmitted(await one.take(policies, 2), 0)
    },
  },
  {
    name: 'concurrency: slots are given back by the id of their take, and renewed in time only',
    run: async (scene) => {
      const one = await scene.open()
      const policies = [policyOf('concurrency', 3, LONG)]
      const [a, b] = [await one.take(policies, 2), await one.take(policies, 1)]
      assert.equal(await one.renew(policies, a.id), 'renewed')
      assert.equal(await one.renew(policies, scene.id()), 'missing')
      assert.equal(await one.renew(policies, a.id, { attempt: scene.attempt(-scene.units(1)) }), 'late')
      assert.equal(await one.adjust(policies, b, 0), true)
      assert.equal(await one.adjust(policies, b, 0), false)
      assertAdmitted(await one.take(policies, 1), 0)
      assert.equal(await one.adjust(policies, a, 1), true)
      assertAdmitted(await one.take(policies, 1), 0)
      assert.equal(await one.renew([policyOf('fixed-window', 3, LONG)], a.id), 'missing')
    },
  },
]

const naming: readonly LimitCaseOutline[] = [
  {
    name: 'subject: hostile and very long ones have usage of their own',
    run: async (scene) => {
      const one = await scene.open()
      const policies = KINDS.map((kind) => policyOf(kind, 50, LONG))
      for (const [i, subject] of HOSTILE.entries()) await one.take(policies, i + 1, { subject })
      for (const [i, subject] of HOSTILE.entries()) {
        const { policies: verdicts } = await one.take(policies, 1, { subject })
        assert.deepEqual(
          verdicts.map(({ remaining }) => remaining),
          KINDS.map(() => 50 - i - 2),
          JSON.stringify(subject.slice(0, 40)),
        )
      }
    },
  },
  {
    name: 'policy: hostile names of policies are told apart',
    run: async (scene) => {
      const one = await scene.open()
      const names = ['a', 'a:b', '__proto__', 'block', ':log', '{}', '*', 'reply', 'reserved', ' ', '"\\']
      const policies = names.map((name, i): Policy => policyOf('token-bucket', 100 + i, LONG, name))
      await one.take(policies, 1)
      const { policies: verdicts } = await one.take(policies.toReversed(), 1)
      assert.deepEqual(
        verdicts.map(({ remaining }) => remaining),
        names.map((_, i) => 98 + i).toReversed(),
      )
    },
  },
  {
    name: 'turn: many subjects in one turn each get an answer of their own',
    run: async (scene) => {
      const one = await scene.open()
      const policies = [policyOf('sliding-window', MANY, LONG), policyOf('token-bucket', MANY, LONG)]
      const verdicts = await Promise.all(
        Array.from({ length: MANY }, (_, i) => one.take(policies, i + 1, { subject: `subject ${i}` })),
      )
      for (const [i, { policies: both }] of verdicts.entries())
        assert.deepEqual(
          both.map(({ remaining }) => remaining),
          [MANY - i - 1, MANY - i - 1],
        )
    },
  },
]

/** Cases about what a subject is: several policies, blocks, reservations, slots, names. */
export const subjectCases: readonly LimitCaseOutline[] = [
  ...several,
  ...blocking,
  ...reserving,
  ...slots,
  ...naming,
]

import assert from 'node:assert/strict'
import type { Attempt } from '../store/attempt.ts'
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
import { limitWalk } from './limit-contract-walk.ts'

const SUBJECTS = 1_000
/** What a request may lose on its way and by rounding: `notAfter` is never later than this allows. */
const ROUNDING_MS = 1

/** One try of a store's. */
type Call = (attempt: Attempt) => Promise<{ serverTime: number }>

const edges: readonly LimitCaseOutline[] = [
  {
    name: 'E8: fixed-window: the millisecond in which a window ends belongs to the next one',
    run: async (scene) => {
      const one = await scene.open()
      const per = scene.units(8)
      const policies = [policyOf('fixed-window', 5, per)]
      await scene.withinWindow(per, one, async (subject) => {
        const full = await one.take(policies, 5, { subject })
        assertAdmitted(full, 0)
        const edge = (Math.floor(full.at / per) + 1) * per
        assert.equal(full.at + only(full).resetAfter, edge)
        await scene.reach(edge - 1, one)
        const before = await one.take(policies, 1, { subject })
        if (before.at < edge) assertDenied(before, 0)
        await scene.reach(edge, one)
        const after = await one.take(policies, 2, { subject })
        assertAdmitted(after, before.allowed ? 2 : 3)
        assert.equal(after.at + only(after).resetAfter, edge + per)
      })
    },
  },
  {
    name: 'E7: sliding-counter: 50 before, 10 now, limit 100: what passes is what the part of the window before leaves',
    run: async (scene) => {
      const one = await scene.open()
      const per = scene.units(20)
      const policies = [policyOf('sliding-counter', 100, per)]
      const start = await one.now()
      await scene.reach(start - (start % per) + per, one)
      const { at } = await one.take(policies, 50)
      const edge = (Math.floor(at / per) + 1) * per
      await scene.reach(edge + per / 10, one)
      const now = await one.take(policies, 10)
      const elapsed = now.at - edge
      // Too slow a machine for this window: there is nothing to be seen.
      if (elapsed >= per) return
      const left = Math.floor((100 * per - 50 * (per - elapsed) - 10 * per) / per)
      if (elapsed === per / 10) assert.equal(left, 45)
      assertAdmitted(now, left)
      const peeked = await one.peek(policies, left)
      assert.equal(peeked.allowed, true)
      if (peeked.at === now.at) assertDenied(await one.take(policies, left + 1), left)
    },
  },
  {
    name: 'E18: sliding-window: 5, given back, then 5 later: never more than 10 in any window',
    run: async (scene) => {
      const one = await scene.open()
      const per = scene.units(10)
      const policies = [policyOf('sliding-window', 10, per)]
      const first = await one.take(policies, 5)
      assert.equal(await one.adjust(policies, first, 0), true)
      await scene.reach(first.at + per / 2, one)
      const second = await one.take(policies, 5)
      const third = await one.take(policies, 5)
      assert.equal(third.allowed, true)
      await scene.reach(first.at + per + 1, one)
      const early = await one.take(policies, 1)
      assert.equal(early.allowed, early.at >= second.at + per)
    },
  },
  {
    name: 'E16: sliding-window: a take that was given back whole, with others before and after it, can count again',
    run: async (scene) => {
      const one = await scene.open()
      const policies = [policyOf('sliding-window', 10, LONG)]
      const before = await one.take(policies, 1)
      await scene.reach(before.at + 1, one)
      const between = await one.take(policies, 2)
      await scene.reach(between.at + 1, one)
      await one.take(policies, 1)
      assert.equal(await one.adjust(policies, between, 0), true)
      assert.equal(await one.adjust(policies, { ...between, cost: 0 }, 3), true)
      assertAdmitted(await one.take(policies, 1), 4)
    },
  },
  {
    name: 'leaky-bucket: a take is told how long those before it need',
    run: async (scene) => {
      const one = await scene.open()
      const policies: Policy[] = [{ kind: 'leaky-bucket', name: 'line', capacity: 4, rate: 1, per: LONG }]
      const first = await one.take(policies)
      for (const place of [1, 2, 3]) {
        const taken = await one.take(policies)
        assert.equal(taken.at - first.at + only(taken).delay, place * LONG)
      }
      assertDenied(await one.take(policies), 0)
    },
  },
  {
    name: 'E10: windows from a millisecond to a year, rates from one a day to a million a second',
    run: async (scene) => {
      const one = await scene.open()
      for (const per of [1, 500, 1_900, 86_400_000, 31_536_000_000]) {
        for (const limit of [1, 1_000_000]) {
          for (const kind of KINDS) {
            // A lease is never that short.
            if (kind === 'concurrency' && per < 10) continue
            const verdict = await one.take([policyOf(kind, limit, per)], limit, {
              subject: `${limit} in ${per}`,
            })
            assertAdmitted(verdict, 0, `${kind}: ${limit} in ${per} ms`)
            const { resetAfter } = only(verdict)
            const longest = kind === 'sliding-counter' ? 2 * per : per
            assert.ok(Number.isInteger(resetAfter) && resetAfter > 0 && resetAfter <= longest)
          }
        }
      }
    },
  },
]

const leftovers: readonly LimitCaseOutline[] = [
  {
    name: 'E15: many subjects, then idle for two windows: no key is left',
    needs: (doors) => doors.keys,
    run: async (scene) => {
      const one = await scene.open()
      // On a busy machine a window may be over before anybody looks: then a longer one.
      let per = 4
      let seen = 0
      while (seen === 0 && per < 128) {
        per *= 2
        const policies = KINDS.map((kind) => policyOf(kind, 5, scene.units(per)))
        const takes = Array.from({ length: SUBJECTS }, (_, i) =>
          one.take(policies, 1, { subject: `subject ${i}` }),
        )
        await Promise.all(takes)
        seen = (await scene.doors.keys()).length
      }
      assert.notEqual(seen, 0)
      await scene.pass(2 * per)
      assert.deepEqual(await scene.doors.keys(), [])
    },
  },
  {
    name: 'E16: a refund, a renewal or a peek of what is not there makes no key; what counts nothing is not kept',
    needs: (doors) => doors.keys,
    run: async (scene) => {
      const one = await scene.open()
      const policies = KINDS.map((kind) => policyOf(kind, 5, LONG))
      const gone = { ...(await one.take(policies, 2, { subject: 'another' })), id: scene.id() }
      await one.reset(policies, 'another')
      assert.equal(await one.adjust(policies, gone, 0), false)
      assert.equal(await one.adjust(policies, gone, 4), false)
      assert.equal(await one.renew(policies, gone.id), 'missing')
      await one.peek(policies, 2)
      await one.take(policies, 6, { countDenied: true })
      await one.block(policies, 0)
      assert.deepEqual(await scene.doors.keys(), [])
      const windows = policies.filter(({ kind }) => !kind.endsWith('bucket'))
      await one.adjust(windows, await one.take(windows, 2), 0)
      assert.deepEqual(await scene.doors.keys(), [])
    },
  },
  {
    name: 'E9: after many random calls every key has an expiry',
    needs: (doors) => doors.keysWithoutExpiry,
    run: async (scene) => {
      await limitWalk(scene, 150)
      assert.deepEqual(await scene.doors.keysWithoutExpiry(), [])
    },
  },
]

const calls: readonly LimitCaseOutline[] = [
  {
    name: 'attempt: every call notes when it was sent; those that count or prolong note their deadline in server time',
    run: async (scene) => {
      const { limits } = await scene.open()
      const { clock } = scene.bench
      const policies = [policyOf('concurrency', 5, LONG)]
      const address = scene.address()
      const id = scene.id()
      const noted = async (what: string, counts: boolean, call: Call): Promise<void> => {
        const budget = scene.units(100)
        const attempt = scene.attempt(budget)
        const before = clock.monotonic()
        const { serverTime } = await call(attempt)
        const { sent, notAfter } = attempt
        assert.ok(
          sent !== null && sent.monotonic >= before && sent.monotonic <= clock.monotonic(),
          `${what}: sent`,
        )
        if (!counts) return assert.equal(notAfter, null, `${what}: carries no deadline`)
        assert.ok(
          notAfter !== null && Number.isInteger(notAfter),
          `${what}: notAfter ${notAfter} is in whole ms`,
        )
        assert.ok(
          notAfter >= Math.floor(serverTime) && notAfter <= serverTime + budget + ROUNDING_MS,
          `${what}: notAfter`,
        )
      }
      const taken = { address, policies, take: id }
      await noted('take', true, (attempt) =>
        limits.take({ address, policies, cost: 1, id, countDenied: false, returnAfter: null }, attempt),
      )
      await noted('renew', true, (attempt) => limits.renew(taken, attempt))
      await noted('adjust', true, (attempt) =>
        limits.adjust({ ...taken, id: scene.id(), at: 1, taken: 1, cost: 0 }, attempt),
      )
      await noted('peek', false, (attempt) => limits.peek({ address, policies, cost: 1 }, attempt))
      await noted('reset', false, (attempt) => limits.reset({ address, policies }, attempt))
      await noted('block', false, (attempt) => limits.block({ address, policies, duration: 0 }, attempt))
    },
  },
  {
    name: 'late: reset and block carry no deadline, they are done however late they come',
    run: async (scene) => {
      const one = await scene.open()
      const policies = [policyOf('fixed-window', 5, LONG)]
      await one.take(policies, 5)
      await one.limits.reset({ address: scene.address(), policies }, scene.attempt(-scene.units(1)))
      assertAdmitted(await one.take(policies, 5), 0)
      const ask = { address: scene.address(), policies, duration: LONG }
      await one.limits.block(ask, scene.attempt(-scene.units(1)))
      assert.ok((await one.peek(policies)).blockedFor > 0)
    },
  },
  {
    name: "answer: the store's clock goes on, and is that under which a take is counted",
    run: async (scene) => {
      const one = await scene.open()
      const policies = [policyOf('fixed-window', 5, LONG)]
      const before = await one.tryTake(policies)
      await scene.pass(2)
      const after = await one.tryTake(policies)
      assert.ok(after.serverTime - before.serverTime >= scene.units(1))
      for (const { result, serverTime } of [before, after])
        assert.equal(result.kind === 'decided' && result.at, Math.floor(serverTime))
    },
  },
  {
    name: 'walk: many random calls of three processes are answered as the algorithms say',
    run: (scene) => limitWalk(scene, 300),
  },
  {
    name: 'close: ends without an error, also twice, and ends nothing of the others',
    run: async (scene) => {
      const [one, two] = [await scene.open(), await scene.open()]
      const policies = [policyOf('fixed-window', 5, LONG)]
      await one.take(policies, 2)
      await one.opened.close()
      await one.opened.close()
      assertAdmitted(await two.take(policies, 2), 1)
    },
  },
]

/** Cases about time, about what is left behind, and about the calls themselves. */
export const timeCases: readonly LimitCaseOutline[] = [...edges, ...leftovers, ...calls]

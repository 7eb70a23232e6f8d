import assert from 'node:assert/strict'
import { lockAddress } from '../name.ts'
import type { Attempt } from '../store/attempt.ts'
import { JOIN, QUIET, type CaseOutline, type Party, type Scene } from './contract-scene.ts'
import { walk } from './contract-walk.ts'

const MANY = 200
/** What a request may lose on its way and by rounding: `notAfter` is never later than this allows. */
const ROUNDING_MS = 1

const HOSTILE_NAMES = [
  '{}',
  'a{',
  '}b{',
  'a|b',
  '%7B',
  'tab\tnew\nline\0nul',
  '  spaces  ',
  "'; DROP TABLE holdfast_lock; --",
  '"quoted" \\back',
  '%_*?[a-z]',
  '__proto__',
  'constructor',
  'Ünïcödé 锁 🔒',
  ':lock',
  'a:{b}:queue',
  'x'.repeat(10_240),
  `${'x'.repeat(10_239)}y`,
  '锁'.repeat(3_000),
]

/** Who an attempt was sent for, and whether it carries a deadline for the server. */
function assertNoted(scene: Scene, attempt: Attempt, before: number, what: string): void {
  const { clock } = scene.bench
  const { sent } = attempt
  assert.ok(sent !== null, `${what}: the attempt knows when it was sent`)
  assert.ok(
    sent.monotonic >= before && sent.monotonic <= clock.monotonic(),
    `${what}: sent between call and answer`,
  )
  assert.ok(Math.abs(clock.wall() - sent.wall) < 60_000, `${what}: sent on the wall clock too`)
}

const noting: readonly CaseOutline[] = [
  {
    name: 'attempt: every call notes when it was sent; those that grant or prolong note their deadline in server time',
    run: async (scene) => {
      const { locks, ...party } = await withOwner(scene)
      const { lock: address } = scene
      const { clock } = scene.bench
      const { owner } = party
      const budget = scene.units(100)
      const granting = async (
        what: string,
        call: (attempt: Attempt) => Promise<{ serverTime: number }>,
      ): Promise<void> => {
        const attempt = scene.attempt(budget)
        const before = clock.monotonic()
        const { serverTime } = await call(attempt)
        assertNoted(scene, attempt, before, what)
        const { notAfter } = attempt
        assert.ok(
          notAfter !== null && Number.isInteger(notAfter),
          `${what}: notAfter ${notAfter} is in whole ms`,
        )
        assert.ok(
          notAfter >= serverTime && notAfter <= serverTime + budget + ROUNDING_MS,
          `${what}: notAfter is within the budget`,
        )
      }
      const other = async (what: string, call: (attempt: Attempt) => Promise<unknown>): Promise<void> => {
        const attempt = scene.attempt()
        const before = clock.monotonic()
        await call(attempt)
        assertNoted(scene, attempt, before, what)
        assert.equal(attempt.notAfter, null, `${what}: carries no deadline`)
      }
      let fence = 0n
      await granting('acquire', async (attempt) => {
        const answer = await locks.acquire(
          { address, owner, trace: null, ttl: scene.units(200), queue: QUIET, reserve: 0 },
          attempt,
        )
        assert.ok(answer.result.kind === 'granted')
        fence = answer.result.fence
        return answer
      })
      await granting('renew', (attempt) =>
        locks.renew({ address, owner, fence, ttl: scene.units(200) }, attempt),
      )
      await other('inspect', (attempt) => locks.inspect(address, attempt))
      await other('leave', (attempt) => locks.leave({ address }, attempt))
      await other('force', (attempt) => locks.force({ address, owner }, attempt))
      await other('release', (attempt) => locks.release({ address, owner }, attempt))
    },
  },
  {
    name: "answer: the store's clock goes on as time passes",
    run: async (scene) => {
      const one = await scene.open()
      const before = (await one.acquireAnswer(one.owner())).serverTime
      await scene.pass(4)
      const passed = (await one.acquireAnswer(one.owner())).serverTime - before
      assert.ok(passed >= scene.units(3), `${passed} ms passed`)
    },
  },
]

async function withOwner(scene: Scene): Promise<{ locks: Party['locks']; owner: string }> {
  const party = await scene.open()
  return { locks: party.locks, owner: party.owner() }
}

const many: readonly CaseOutline[] = [
  {
    name: 'turn: many locks asked for in one turn are each granted, renewed and released, each with an answer of its own',
    run: async (scene) => {
      const [one, two] = [await scene.open(), await scene.open()]
      const wanted = Array.from({ length: MANY }, (_, i) => ({
        owner: one.owner(),
        address: scene.address(`name ${i}`),
      }))
      const held = wanted.filter((_, i) => i % 3 !== 0)
      await Promise.all(
        wanted.filter((_, i) => i % 3 === 0).map(({ address }) => two.grant(two.owner(), { address })),
      )
      const grants = await Promise.all(wanted.map(({ owner, address }) => one.acquire(owner, { address })))
      assert.deepEqual(
        grants.map(({ kind }) => kind),
        wanted.map((_, i) => (i % 3 === 0 ? 'busy' : 'granted')),
      )
      const renewals = await Promise.all(
        wanted.map(({ owner, address }, i) => {
          const grant = grants[i]
          return one.renew(owner, grant?.kind === 'granted' ? grant.fence : 1n, { address })
        }),
      )
      assert.equal(renewals.filter(({ kind }) => kind === 'renewed').length, held.length)
      assert.equal(renewals.filter(({ kind }) => kind === 'other').length, MANY - held.length)
      const releases = await Promise.all(wanted.map(({ owner, address }) => one.release(owner, address)))
      assert.equal(releases.filter(({ kind }) => kind === 'released').length, held.length)
      const left = await Promise.all(wanted.map(({ address }) => two.inspect(address)))
      assert.equal(left.filter((record) => record !== null).length, MANY - held.length)
    },
  },
  {
    name: 'turn: of many who ask for one lock in one turn, from two processes, exactly one is granted',
    run: async (scene) => {
      const parties = [await scene.open(), await scene.open()]
      const owners = parties.flatMap((party) =>
        Array.from({ length: MANY / 4 }, () => ({ party, owner: party.owner() })),
      )
      const results = await Promise.all(
        owners.map(({ party, owner }) => party.acquire(owner, { queue: JOIN })),
      )
      const granted = owners.filter((_, i) => results[i]?.kind === 'granted')
      assert.equal(granted.length, 1)
      const [winner] = granted
      for (const result of results) {
        if (result.kind === 'busy') assert.equal(result.holder?.owner, winner?.owner)
      }
      assert.equal((await winner?.party.release(winner.owner))?.kind, 'released')
    },
  },
  {
    name: 'turn: one owner that asks many times in one turn is granted once, with one fence',
    run: async (scene) => {
      const one = await scene.open()
      const owner = one.owner()
      const results = await Promise.all(Array.from({ length: 20 }, () => one.acquire(owner)))
      const first = results.filter((result) => result.kind === 'granted' && !result.again)
      assert.equal(first.length, 1)
      assert.equal(
        new Set(results.map((result) => (result.kind === 'granted' ? result.fence : null))).size,
        1,
      )
    },
  },
  {
    name: 'turn: an acquire does not overtake the release of the same lock',
    run: async (scene) => {
      const one = await scene.open()
      // The first calls of a store may have to set something up; order is about those after them.
      let owner = one.owner()
      await one.grant(owner)
      await one.release(owner)
      for (let i = 0; i < 10; i += 1) {
        owner = one.owner()
        await one.grant(owner)
        const next = one.owner()
        const [released, granted] = await Promise.all([one.release(owner), one.acquire(next)])
        assert.deepEqual([released.kind, granted.kind], ['released', 'granted'])
        await one.release(next)
      }
    },
  },
]

const naming: readonly CaseOutline[] = [
  {
    name: 'name: hostile and very long names work, and are different locks',
    run: async (scene) => {
      const [one, two] = [await scene.open(), await scene.open()]
      const owners: string[] = []
      for (const name of HOSTILE_NAMES) {
        const owner = one.owner()
        owners.push(owner)
        await one.grant(owner, { address: scene.address(name) })
      }
      for (const [i, name] of HOSTILE_NAMES.entries()) {
        const address = scene.address(name)
        assert.equal((await two.record(address)).owner, owners[i])
        await two.join(address)
        assert.equal((await one.record(address)).waiters, 1)
        await two.leave(address)
        assert.equal((await one.release(owners[i] ?? '', address)).kind, 'released')
        assert.equal(await two.inspect(address), null)
      }
    },
  },
  {
    name: 'name: an exact key is another lock than the name that reads like it',
    run: async (scene) => {
      const one = await scene.open()
      const exact = `${scene.bench.prefix}:exact key "of" another's choosing`
      const addresses = [lockAddress(scene.bench.prefix, exact, exact), scene.address(exact)]
      for (const address of addresses) await one.grant(one.owner(), { address })
      const records = await Promise.all(addresses.map((address) => one.record(address)))
      assert.notEqual(records[0]?.owner, records[1]?.owner)
    },
  },
  {
    name: 'owner: of 200 characters, and a trace of any characters, are kept whole and apart',
    run: async (scene) => {
      const one = await scene.open()
      const [short = '', pid = ''] = one.owner().split(/@.*:/)
      const owner = `${short}@${'h'.repeat(200 - short.length - pid.length - 2)}:${pid}`
      assert.equal(owner.length, 200)
      for (const trace of ['4bf92f3577b34da6a3ce929d0e0e4736', 'a;trace=b#1+2', '锁 "x"\n', '']) {
        const fence = await one.grant(owner, { trace })
        const record = await one.record()
        assert.deepEqual([record.owner, record.fence], [owner, fence])
        assert.deepEqual(await one.acquire(owner, { trace }), { kind: 'granted', fence, again: true })
        assert.deepEqual(await one.renew(owner, fence), { kind: 'renewed' })
        assert.equal((await one.release(owner)).kind, 'released')
      }
    },
  },
]

const keeping: readonly CaseOutline[] = [
  {
    name: 'walk: many random calls of three processes agree with the model of a fenced mutex',
    run: (scene) => walk(scene, 400),
  },
  {
    name: 'A6 expiry: after many random calls every key has one',
    needs: (_traits, doors) => doors.keysWithoutExpiry,
    run: async (scene) => {
      await walk(scene, 200)
      assert.deepEqual(await scene.doors.keysWithoutExpiry(), [])
    },
  },
  {
    name: 'close: ends without an error, also twice, and ends nothing of the others',
    run: async (scene) => {
      const [one, two] = [await scene.open(), await scene.open()]
      const owner = two.owner()
      await two.grant(owner)
      one.locks.attend(true)
      await one.opened.close()
      await one.opened.close()
      assert.equal((await two.release(owner)).kind, 'released')
    },
  },
]

export const boundCases: readonly CaseOutline[] = [...noting, ...many, ...naming, ...keeping]

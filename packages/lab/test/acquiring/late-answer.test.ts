import { createHoldfast, type Held } from 'holdfast'
import { seededRandomness, VirtualClock } from 'holdfast/testing'
import { expect, test } from 'vitest'
import { ScriptedStore, type ScriptedAnswer } from '../support/scripted-store.ts'
import { settle } from '../support/settling.ts'

/**
 * Goal: "late" speaks of one copy of a request only, so it is no refusal; and an owner for whom a release was sent is never
 * asked for again, so that the release can hit nothing later.
 * Method: a store in memory, on a virtual clock, whose answers the test exchanges call by call. A real server says "late" to
 * a live call only when its clock and ours drift apart by a budget.
 */

const BUDGET = 900

function scripted(answers: readonly ScriptedAnswer[]) {
  const clock = new VirtualClock()
  let at = 0
  const store = new ScriptedStore(clock, (call) => (call === 'acquire' ? (answers[at++] ?? 'true') : 'true'))
  const hf = createHoldfast({ store, clock, budget: BUDGET })
  const end = async (): Promise<void> => {
    const closed = hf.close()
    await clock.advance(2 * BUDGET)
    await closed
  }
  return { clock, store, hf, end }
}

test('granted without an answer, then late: asked again, and got with the same owner', async () => {
  const { clock, store, hf, end } = scripted(['silent', 'late'])
  const call = settle(hf.lock('a', { ttl: '30s' }).tryAcquire())
  await clock.advance(BUDGET)
  const { value: held, error } = await call
  expect(error).toBeNull()
  expect(held?.lost).toBeNull()
  expect(new Set(store.calls.map(({ owner }) => owner)).size).toBe(1)
  expect(await hf.inspect('a')).toMatchObject({ owner: held?.owner, fence: held?.fence })
  await end()
})

test('granted without an answer, then late to the end: unknown, and what was granted is cleared away', async () => {
  const { clock, hf, end } = scripted(['silent', ...Array.from<ScriptedAnswer>({ length: 100 }).fill('late')])
  const call = settle(hf.lock('a', { ttl: '30s' }).tryAcquire())
  await clock.advance(BUDGET)
  expect((await call).error).toMatchObject({ code: 'STORE_UNAVAILABLE', outcome: 'unknown' })
  await clock.advance(100)
  expect(await hf.inspect('a')).toBeNull()
  await end()
})

test('unknown, while it waits: compensated, and asked for under another owner', async () => {
  const { clock, store, hf, end } = scripted(['silent', 'silent', 'silent'])
  const call = settle(hf.lock('a', { ttl: '30s' }).acquire({ wait: '5s' }))
  await clock.advance(2 * BUDGET)
  const { value: held } = await call
  expect(held?.lost).toBeNull()
  const [first] = store.calls
  expect(held?.owner).not.toBe(first?.owner)
  expect(store.calls).toContainEqual({ call: 'release', owner: first?.owner })
  expect(await hf.inspect('a')).toMatchObject({ owner: held?.owner })
  await end()
})

test('an owner is never asked for again once a release was sent for it; no two hold; nothing is left', async () => {
  let grants = 0
  for (let seed = 1; seed <= 60; seed += 1) {
    const { fraction } = seededRandomness(seed)
    const clock = new VirtualClock()
    const store = new ScriptedStore(clock, (call) => {
      const die = fraction()
      if (die < 0.5) return 'true'
      return die < 0.8 || call === 'release' ? 'silent' : 'late'
    })
    const hf = createHoldfast({ store, clock, budget: BUDGET, randomness: seededRandomness(seed) })
    const holders = new Set<Held>()
    const users = Array.from({ length: 4 }, async () => {
      for (let round = 0; round < 4; round += 1) {
        const { value: held } = await settle(hf.lock('a', { ttl: 2_000, wait: 3_000 }).acquire())
        if (held === undefined) continue
        grants += 1
        expect(
          [...holders].filter(({ lost }) => lost === null),
          `seed ${seed}`,
        ).toEqual([])
        holders.add(held)
        await new Promise<void>((resolve) => void clock.setTimer(resolve, 200 * fraction()))
        holders.delete(held)
        await settle(held.release())
      }
    })
    let over = false
    const all = Promise.all(users).finally(() => (over = true))
    all.catch(() => {})
    while (!over) await clock.advance(100)
    await all
    await clock.advance(10_000)
    const released = new Set<string>()
    for (const { call, owner } of store.calls) {
      if (call === 'release') released.add(owner)
      else expect(released, `seed ${seed}: ${owner} is asked for after its release`).not.toContain(owner)
    }
    expect(await hf.inspect('a'), `seed ${seed}`).toBeNull()
    const closed = hf.close()
    await clock.advance(2 * BUDGET)
    await closed
  }
  expect(grants).toBeGreaterThan(60)
})

import { finalError, type Holdfast, type IdempotencyOptions } from 'holdfast'
import { Attempt, onceAddress, systemClock, systemRandomness } from 'holdfast/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { waitFor } from '../../src/index.ts'
import type { EffectBench, EffectTransaction } from './benches.ts'

/**
 * Goal: with `transaction`, the record of a run and what its work writes are there together or not at all, whatever becomes of the
 * transaction. Method: a table of effects beside the store's tables; what is counted is what was committed.
 */

/**
 * What a run with `transaction` promises, over one client of one database.
 *
 * @param stopsOthers whether a transaction that has looked at a key keeps others from writing to it
 */
export function transactionalSuite(
  name: string,
  create: () => Promise<EffectBench>,
  { stopsOthers = false }: { readonly stopsOthers?: boolean } = {},
): void {
  describe(`idempotency in a transaction: ${name}`, () => {
    let bench: EffectBench
    let hf: Holdfast

    beforeEach(async () => {
      bench = await create()
      hf = bench.open()
    })
    afterEach(() => bench.end())

    /** Runs a key in one transaction, whose effect it is to write a row. */
    const pay = (
      key: string,
      options: { wait?: string; fingerprint?: unknown; of?: Holdfast; terms?: IdempotencyOptions } = {},
    ) => bench.transact((transaction) => payWithin(transaction, key, options))

    const payWithin = (
      transaction: EffectTransaction,
      key: string,
      { wait = '0ms', fingerprint, of = hf, terms = {} }: Parameters<typeof pay>[1] = {},
    ) =>
      of
        .idempotency('pay', terms)
        .run(
          { key, scope: 'a' },
          { wait: wait as '0ms', fingerprint, transaction: transaction.given },
          async (run) => {
            await transaction.effect(key)
            return `paid ${key} by attempt ${run.attempt}`
          },
        )

    test('a committed run is replayed, in transactions and outside of them', async () => {
      expect(await pay('k')).toEqual({ value: 'paid k by attempt 1', replayed: false })
      expect(await pay('k')).toEqual({ value: 'paid k by attempt 1', replayed: true })
      const plain = await hf.idempotency('pay').run({ key: 'k', scope: 'a' }, {}, () => 'anew')
      expect(plain).toEqual({ value: 'paid k by attempt 1', replayed: true })
      expect(await bench.effects('k')).toBe(1)
    })

    test('a run whose transaction is rolled back was never there: neither record nor effect', async () => {
      const refused = bench.transact(async (transaction) => {
        await payWithin(transaction, 'k')
        throw new Error('the caller thought better of it')
      })
      await expect(refused).rejects.toThrow('thought better')
      expect(await bench.effects('k')).toBe(0)
      expect(await hf.idempotency('pay').inspect({ key: 'k', scope: 'a' })).toBeNull()
      expect(await pay('k')).toMatchObject({ replayed: false })
      expect(await bench.effects('k')).toBe(1)
    })

    test("F5, F6: a runner that dies in the midst of it leaves nothing; the next runs at once, also with onAbandoned 'fail'", async () => {
      const died = bench.transact(async (transaction) => {
        await payWithin(transaction, 'k')
        await transaction.die()
      })
      await expect(died).rejects.toThrow()
      const next = await waitFor(() => pay('k').catch(() => undefined), { what: 'the next to run' })
      expect(next).toEqual({ value: 'paid k by attempt 1', replayed: false })
      expect(await bench.effects('k')).toBe(1)
    })

    test('F9: twenty at once over two processes, each in a transaction of its own: one effect, and the others replay it', async () => {
      const other = bench.open()
      const calls = Array.from({ length: 20 }, (_, i) =>
        pay('k', { wait: '20s', of: i % 2 === 0 ? hf : other }),
      )
      const outcomes = await Promise.all(calls)
      expect(outcomes.filter(({ replayed }) => !replayed)).toHaveLength(1)
      expect(new Set(outcomes.map(({ value }) => value))).toEqual(new Set(['paid k by attempt 1']))
      expect(await bench.effects('k')).toBe(1)
    })

    test('F1, F10, F12: falsy values, other scopes, and another payload', async () => {
      const payments = hf.idempotency('pay')
      for (const [i, value] of [0, false, null, '', undefined].entries()) {
        const run = () =>
          bench.transact(({ given }) =>
            payments.run({ key: `f${i}`, scope: 'a' }, { transaction: given }, () => value),
          )
        expect(await run()).toEqual({ value, replayed: false })
        expect(await run()).toEqual({ value, replayed: true })
      }
      await pay('k', { fingerprint: { amount: 1 } })
      await expect(pay('k', { fingerprint: { amount: 2 } })).rejects.toMatchObject({
        code: 'IDEMPOTENCY_MISMATCH',
      })
      const elsewhere = await bench.transact(({ given }) =>
        payments.run({ key: 'k', scope: 'b' }, { transaction: given }, () => 'of b'),
      )
      expect(elsewhere).toEqual({ value: 'of b', replayed: false })
    })

    test('F8: an error that is not final frees the key, also when the caller commits all the same', async () => {
      const committed = await bench.transact(async (transaction) => {
        const failing = hf
          .idempotency('pay')
          .run({ key: 'k', scope: 'a' }, { transaction: transaction.given }, () =>
            Promise.reject(new Error('no card')),
          )
        await expect(failing).rejects.toThrow('no card')
        return 'committed'
      })
      expect(committed).toBe('committed')
      expect(await pay('k')).toMatchObject({ value: 'paid k by attempt 1', replayed: false })
    })

    test('a final error is replayed once its transaction is committed', async () => {
      const decline = () =>
        bench.transact(async ({ given }) => {
          const run = hf.idempotency('pay').run({ key: 'k', scope: 'a' }, { transaction: given }, () => {
            throw finalError(new Error('declined'))
          })
          return run.catch((error: unknown) => error)
        })
      expect(await decline()).toMatchObject({ message: 'declined' })
      expect(await decline()).toMatchObject({ message: 'declined', replayed: true })
    })

    test('what cannot be stored is told before the commit', async () => {
      const big = bench.transact((transaction) =>
        hf
          .idempotency('big', { maxBytes: 10 })
          .run({ key: 'k', scope: 'a' }, { transaction: transaction.given }, async () => {
            await transaction.effect('big')
            return 'far more than ten bytes'
          }),
      )
      await expect(big).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN', reason: 'too-large' })
      expect(await bench.effects('big')).toBe(0)
      expect(await hf.idempotency('big').inspect({ key: 'k', scope: 'a' })).toBeNull()
    })

    test('a run that goes on without a transaction is in progress for one within, which may wait for it', async () => {
      let finish = (): void => undefined
      const running = new Promise<void>((resolve) => (finish = resolve))
      const plain = hf.idempotency('pay').run({ key: 'k', scope: 'a' }, {}, () => running)
      await waitFor(async () => (await hf.idempotency('pay').inspect({ key: 'k', scope: 'a' })) !== null, {
        what: 'the claim',
      })
      await expect(pay('k')).rejects.toMatchObject({ code: 'IDEMPOTENCY_IN_PROGRESS' })
      // It would wait for somebody who cannot write because of it.
      const waited = pay('k', { wait: '5s' }).catch((error: unknown) => error)
      if (stopsOthers) expect(await waited).toMatchObject({ code: 'IDEMPOTENCY_IN_PROGRESS' })
      finish()
      await plain
      if (!stopsOthers) expect(await waited).toEqual({ value: undefined, replayed: true })
      expect(await bench.effects('k')).toBe(0)
    })

    test('F5, F6: of a plain run that was abandoned nobody knows the end; it is run again where that was chosen', async () => {
      const until = systemClock.monotonic() + 5_000
      const { once } = bench.store.open({
        clock: systemClock,
        randomness: systemRandomness,
        prefixes: [bench.prefix],
      })
      const address = onceAddress(bench.prefix, 'pay', 'a', 'k')
      const ask = {
        address,
        owner: 'dead',
        fingerprint: null,
        retryAbandoned: false,
        lease: 30,
        retention: 60_000,
      }
      await once.claim(ask, new Attempt(until, until))
      const state = async () => (await hf.idempotency('pay').inspect({ key: 'k', scope: 'a' }))?.state
      await waitFor(async () => (await state()) === 'abandoned', { what: 'the end of the lease' })
      await expect(pay('k')).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN', reason: 'abandoned' })
      const again = await pay('k', { terms: { onAbandoned: 'retry' } })
      expect(again).toEqual({ value: 'paid k by attempt 2', replayed: false })
    })

    test('no transaction, no run', async () => {
      const run = (transaction: unknown) =>
        hf.idempotency('pay').run({ key: 'k', scope: 'a' }, { transaction }, () => 'ran')
      const wrong = [null, 'tx', {}, 5]
      for (const given of wrong)
        await expect(run(given)).rejects.toMatchObject({
          code: 'INVALID_ARGUMENT',
          option: 'transaction',
        })
      let ended: unknown
      await bench.transact(async ({ given }) => void (ended = given))
      await expect(run(ended)).rejects.toThrow()
      expect(await hf.idempotency('pay').inspect({ key: 'k', scope: 'a' })).toBeNull()
    })
  })
}

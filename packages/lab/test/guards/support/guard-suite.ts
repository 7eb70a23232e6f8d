import { listen, StaleFenceError, type HoldfastEvents } from 'holdfast'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { AnyGuard, Run, Scene } from './scene.ts'

/**
 * What every guard of a SQL database does, over each client.
 * Each test has rows and resources of its own in one database.
 */
export function guardSuite(name: string, create: () => Promise<Scene>): void {
  describe(`guards: ${name}`, () => {
    let scene: Scene
    let guard: AnyGuard
    const suffix = name.replace(/\W/g, '_')
    let count = 0
    const fresh = (): string => `order:${++count}`

    beforeAll(async () => {
      scene = await create()
      guard = scene.guard({ table: `guard_of_${suffix}` })
      await guard.migrate(scene.db)
      await scene.bare(({ run }) => run(`DROP TABLE IF EXISTS ${table()}`))
      await scene.bare(({ run }) =>
        run(`CREATE TABLE ${table()} (id VARCHAR(99) PRIMARY KEY, stock INT, fence BIGINT)`),
      )
    })
    afterAll(async () => {
      for (const each of [table(), `guard_of_${suffix}`, `made_of_${suffix}`])
        await scene?.bare(({ run }) => run(`DROP TABLE IF EXISTS ${each}`))
      await scene?.close()
    })

    const table = (): string => `stock_of_${suffix}`
    const check = (resource: string, fence: bigint, options?: object): Promise<void> =>
      scene.transaction(async ({ tx }) => void (await guard.check(tx, resource, fence, options)))
    const item = async (stock: number, fence: bigint | null = 0n): Promise<string> => {
      const id = fresh()
      await scene.bare(({ run }) =>
        run(`INSERT INTO ${table()} VALUES ({1}, {2}, {3})`, id, stock, fence && String(fence)),
      )
      return id
    }
    const read = async (id: string): Promise<{ stock: number; fence: string }> => {
      const { rows } = await scene.bare(({ run }) =>
        run(`SELECT stock, fence FROM ${table()} WHERE id = {1}`, id),
      )
      return { stock: Number(rows[0]?.['stock']), fence: String(rows[0]?.['fence']) }
    }
    const take = async (id: string, fence: bigint, options: object = {}): Promise<string> =>
      scene.transaction(async ({ tx, run }) => sell(tx, run, id, fence, options))
    async function sell(tx: unknown, run: Run, id: string, fence: bigint, options: object): Promise<string> {
      const column = guard.column(fence, options)
      const { result } = await run(
        `UPDATE ${table()} SET stock = stock - 1, ${column.set} WHERE id = {1} AND ${column.where} AND stock > 0`,
        id,
      )
      const row = { table: table(), where: `id = ${scene.placeholder(1)}`, values: [id] }
      return column.outcome(tx, result, row)
    }

    describe('column', () => {
      test('a holder writes several times, a later one after it, and the stale one no more', async () => {
        const id = await item(9)
        expect(await take(id, 5n)).toBe('written')
        expect(await take(id, 5n)).toBe('written')
        expect(await take(id, 7n)).toBe('written')
        const refused = take(id, 5n)
        await expect(refused).rejects.toBeInstanceOf(StaleFenceError)
        await expect(refused).rejects.toMatchObject({
          code: 'STALE_FENCE',
          fence: 5n,
          accepted: 7n,
          outcome: 'not-done',
        })
        expect(await read(id)).toEqual({ stock: 6, fence: '7' })
      })

      test('zero rows are told apart: stale, missing, the business condition', async () => {
        const id = await item(1)
        expect(await take(id, 5n)).toBe('written')
        expect(await take(id, 6n)).toBe('condition')
        await expect(take(id, 4n)).rejects.toMatchObject({ code: 'STALE_FENCE', accepted: 5n })
        expect(await take('nobody has it', 5n)).toBe('missing')
      })

      test('once: the same fence is refused the second time', async () => {
        const id = await item(9)
        expect(await take(id, 5n, { once: true })).toBe('written')
        await expect(take(id, 5n, { once: true })).rejects.toMatchObject({
          code: 'STALE_FENCE',
          fence: 5n,
          accepted: 5n,
        })
        expect(await take(id, 6n, { once: true })).toBe('written')
      })

      test('a write that leaves the row as it is counts as written', async () => {
        const id = await item(9, 5n)
        const outcome = await scene.transaction(async ({ tx, run }) => {
          const column = guard.column(5n)
          const { result } = await run(
            `UPDATE ${table()} SET stock = 9, ${column.set} WHERE id = {1} AND ${column.where}`,
            id,
          )
          return column.outcome(tx, result, { table: table(), where: '1 = 0' })
        })
        expect(outcome).toBe('written')
      })

      test('tells of a column that is NULL, which compares with nothing', async () => {
        const id = await item(9, null)
        await expect(take(id, 5n)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', option: 'column' })
      })

      test('keeps every digit of the greatest fence', async () => {
        const id = await item(9, 2n ** 63n - 3n)
        expect(await take(id, 2n ** 63n - 2n)).toBe('written')
        await expect(take(id, 2n ** 63n - 3n)).rejects.toMatchObject({ accepted: 2n ** 63n - 2n })
      })

      test('costs no statement but the UPDATE, and one when that changed nothing', async () => {
        const id = await item(1)
        scene.statements()
        await take(id, 5n)
        expect(scene.statements()).toEqual([])
        await take(id, 5n)
        expect(scene.statements()).toHaveLength(1)
      })

      test('takes a placeholder of the driver in place of the digits', async () => {
        const id = await item(9)
        const placeholder = scene.placeholder(1)
        const column = guard.column(5n, { placeholder })
        expect([column.set, column.where]).toEqual([`fence = ${placeholder}`, `fence <= ${placeholder}`])
        await scene.bare(({ run }) =>
          run(`UPDATE ${table()} SET ${column.set} WHERE id = {2}`, column.value, id),
        )
        expect((await read(id)).fence).toBe('5')
        expect(guard.column(5n, { once: true, column: 'stock.fence' }).where).toBe('stock.fence < 5')
      })
    })

    describe('registry', () => {
      test('accepts equal and higher fences and refuses a lower one, which changes nothing', async () => {
        const resource = fresh()
        await check(resource, 5n)
        await check(resource, 5n)
        await check(resource, 7n)
        const refused = check(resource, 6n)
        await expect(refused).rejects.toBeInstanceOf(StaleFenceError)
        await expect(refused).rejects.toMatchObject({ resource, fence: 6n, accepted: 7n })
        await check(resource, 7n)
      })

      test('once: every fence is accepted a single time', async () => {
        const resource = fresh()
        await check(resource, 5n, { once: true })
        await expect(check(resource, 5n, { once: true })).rejects.toMatchObject({ fence: 5n, accepted: 5n })
        await check(resource, 6n, { once: true })
        await expect(check(resource, 5n)).rejects.toMatchObject({ accepted: 6n })
      })

      test('is one statement for a write that passes, the first as well as later ones', async () => {
        const resource = fresh()
        scene.statements()
        await check(resource, 5n)
        expect(scene.statements()).toHaveLength(1)
        await check(resource, 6n)
        expect(scene.statements()).toHaveLength(1)
      })

      test('what is rolled back was not accepted', async () => {
        const resource = fresh()
        const failing = scene.transaction(async ({ tx }) => {
          await guard.check(tx, resource, 9n)
          throw new Error('no')
        })
        await expect(failing).rejects.toThrow('no')
        await check(resource, 5n)
      })

      test('raise shuts out everything below, and never lowers', async () => {
        const resource = fresh()
        const raise = (fence: bigint): Promise<unknown> =>
          scene.transaction(async ({ tx }) => guard.raise(tx, resource, fence))
        await check(resource, 5n)
        await raise(9n)
        await expect(check(resource, 8n)).rejects.toMatchObject({ accepted: 9n })
        await raise(3n)
        await expect(check(resource, 8n)).rejects.toMatchObject({ accepted: 9n })
        await check(resource, 10n)
        const unseen = fresh()
        await scene.bare(async ({ tx }) => guard.raise(tx, unseen, 4n))
        await expect(check(unseen, 3n)).rejects.toMatchObject({ accepted: 4n })
      })

      test('one resource, one lock name: the first is remembered, another refused', async () => {
        const resource = fresh()
        const hold = (lock: string, fence: bigint): Promise<unknown> =>
          scene.transaction(async ({ tx }) => guard.check(tx, resource, { name: lock, fence }))
        await check(resource, 4n)
        await hold('a lock\'s "name"', 5n)
        await check(resource, 6n)
        await hold('a lock\'s "name"', 7n)
        await expect(hold('another', 8n)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', option: 'lock' })
        await expect(check(resource, 8n, { lock: 'another' })).rejects.toThrow('guards')
        await expect(
          scene.transaction(async ({ tx }) => guard.raise(tx, resource, 8n, { lock: 'another' })),
        ).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', option: 'lock' })
        await check(resource, 7n, { lock: 'a lock\'s "name"' })
      })

      test('keeps resources apart that differ in case, accents or a trailing space, and takes hostile names', async () => {
        const base = fresh()
        const names = [
          base,
          base.toUpperCase(),
          `${base}é`,
          `${base}e`,
          `${base} `,
          `${base}'; -- \\`,
          `${base}${'x'.repeat(900)}`,
        ]
        for (const [i, resource] of names.entries()) await check(resource, BigInt(100 - i))
        for (const [i, resource] of names.entries())
          await expect(check(resource, 1n)).rejects.toMatchObject({ resource, accepted: BigInt(100 - i) })
      })

      test('two at once: the later one waits for the earlier to commit, then the lower fence is refused', async () => {
        const resource = fresh()
        let commit = (): void => {}
        const mayCommit = new Promise<void>((resolve) => (commit = resolve))
        let isIn = (): void => {}
        const accepted = new Promise<void>((resolve) => (isIn = resolve))
        const first = scene.transaction(async ({ tx }) => {
          await guard.check(tx, resource, 9n)
          isIn()
          await mayCommit
        })
        await accepted
        let settled = false
        const second = check(resource, 8n).finally(() => (settled = true))
        const verdict = expect(second).rejects.toMatchObject(
          name === 'sqlite' ? { code: 'SQLITE_BUSY' } : { code: 'STALE_FENCE', accepted: 9n },
        )
        await new Promise((resolve) => setTimeout(resolve, 60))
        expect(settled).toBe(name === 'sqlite')
        commit()
        await first
        await verdict
      })

      test('tells of every refusal by an event', async () => {
        const resource = fresh()
        const told: HoldfastEvents['holdfast:fence:refused'][] = []
        const stop = listen('holdfast:fence:refused', (event) => told.push(event))
        await check(resource, 5n, { lock: 'l' })
        await check(resource, 4n, { lock: 'l' }).catch(() => {})
        stop()
        const kind = /^(pg|postgres)/.test(name) ? 'postgres' : name.startsWith('mysql') ? 'mysql' : 'sqlite'
        expect(told).toEqual([{ guard: kind, resource, lock: 'l', fence: '4', accepted: '5' }])
      })
    })

    describe('is loud', () => {
      test('outside of a transaction', async () => {
        const outside = scene.bare(async ({ tx }) => guard.check(tx, fresh(), 5n))
        await expect(outside).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', option: 'tx' })
        await expect(outside).rejects.toThrow('not inside a transaction')
      })

      test.skipIf(name === 'sqlite')('about a pool, before anything is sent', async () => {
        const given = (async () => guard.check(scene.db, fresh(), 5n))()
        await expect(given).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', option: 'tx' })
        await expect(given).rejects.toThrow('is a pool')
      })

      test.each([
        ['a number', 5],
        ['digits', '5'],
        ['nothing', undefined],
        ['zero', 0n],
        ['more than a database can hold', 2n ** 63n],
        ['a hold without a fence', { name: 'l', fence: null }],
        ['a hold of a store that promises no order', { name: 'l', fence: 5n, fences: 'none' }],
      ])('about a fence that is %s, before anything is sent', async (_, fence) => {
        await scene.transaction(async ({ tx }) => {
          scene.statements()
          const wrong = { code: 'INVALID_ARGUMENT', option: 'fence' }
          await expect((async () => guard.check(tx, 'r', fence as bigint))()).rejects.toMatchObject(wrong)
          await expect((async () => guard.raise(tx, 'r', fence as bigint))()).rejects.toMatchObject(wrong)
          expect(() => guard.column(fence as bigint)).toThrow(expect.objectContaining(wrong) as Error)
          expect(scene.statements()).toEqual([])
        })
      })

      test('about a table that is missing: the error prints the statement that makes it', async () => {
        const missing = scene.guard({ table: 'never_made' })
        const asked = scene.transaction(async ({ tx }) => missing.check(tx, 'r', 5n))
        await expect(asked).rejects.toMatchObject({ code: 'STORE_REFUSED', details: { reason: 'no-table' } })
        await expect(asked).rejects.toThrow(missing.schema)
      })

      test('about a table that is another', async () => {
        const other = scene.guard({ table: table() })
        await expect((async () => other.migrate(scene.db))()).rejects.toMatchObject({
          details: { reason: 'other-table' },
        })
        const asked = scene.transaction(async ({ tx }) => other.check(tx, 'r', 5n))
        await expect(asked).rejects.toThrow('another `table`')
      })

      test('about options that do not exist', async () => {
        expect(() => scene.guard({ tabel: 'x' } as object)).toThrow('Did you mean "table"?')
        expect(() => scene.guard({ table: 'a; drop' })).toThrow('table:')
        expect(() => guard.column(5n, { placeholder: '5; DROP' })).toThrow('placeholder:')
        expect(() => guard.column(5n, { column: 'a b' })).toThrow('column:')
        await expect(check('r', 5n, { onse: true })).rejects.toThrow('Did you mean "once"?')
        await expect(check('', 5n)).rejects.toThrow('resource:')
      })
    })

    test('migrate may be called at once by many, and again', async () => {
      const again = scene.guard({ table: `made_of_${suffix}` })
      await Promise.all(Array.from({ length: 8 }, async () => again.migrate(scene.db)))
      await scene.transaction(async ({ tx }) => again.check(tx, 'r', 5n))
      await again.migrate(scene.db)
      const lower = scene.transaction(async ({ tx }) => again.check(tx, 'r', 4n))
      await expect(lower).rejects.toBeInstanceOf(StaleFenceError)
    })
  })
}

import { describe, expect, test } from 'vitest'
import { Attempt } from '../../store/attempt.ts'
import { StoreFailure } from '../../store/failure.ts'
import { VirtualClock } from '../../testing/virtual-clock.ts'
import type { GiveUp, SqlChanges, SqlFound, SqlNeeds, SqlPort, SqlTransaction } from './port.ts'
import type { SqlTask } from './task.ts'
import { SqlTransactions } from './transactions.ts'

/**
 * Goal: how operations are gathered into transactions, and what becomes of them when the database is silent or refuses. Method: a database that
 * answers when the test says so, under a virtual clock.
 */

const BUDGET = 900
/** A third of it: what one transaction may take. */
const WITHIN = 300

/** A transaction of the pretended database, and what was asked of it. */
class Asked implements SqlTransaction {
  readonly found: SqlFound = {
    nowMicros: 5_000_000,
    locks: new Map(),
    waiters: new Map(),
    texts: new Map(),
    replies: new Map(),
  }
  readonly needs: SqlNeeds
  readonly giveUp: GiveUp
  committed: SqlChanges | null = null
  ended: 'committed' | 'rolled back' | 'destroyed' | null = null
  begin: (error?: Error) => void = () => undefined
  end: (error?: Error) => void = () => undefined
  readonly begun: Promise<void>
  readonly #done: Promise<void>

  constructor(needs: SqlNeeds, giveUp: GiveUp) {
    this.needs = needs
    this.giveUp = giveUp
    const settled = (take: (settle: (error?: Error) => void) => void): Promise<void> =>
      new Promise((resolve, reject) => {
        take((error) => (error === undefined ? resolve() : reject(error)))
      })
    this.begun = settled((settle) => (this.begin = settle))
    this.#done = settled((settle) => (this.end = settle))
  }

  async commit(changes: SqlChanges): Promise<void> {
    this.committed = changes
    await this.#done
    this.ended = 'committed'
  }

  async rollback(): Promise<void> {
    this.ended = 'rolled back'
  }

  destroy(): void {
    this.ended = 'destroyed'
  }
}

class Bench {
  readonly clock = new VirtualClock()
  readonly asked: Asked[] = []
  readonly answers: string[] = []
  readonly transactions: SqlTransactions

  constructor() {
    const port: SqlPort = {
      begin: async (needs, _bounds, giveUp) => {
        const one = new Asked(needs, giveUp)
        this.asked.push(one)
        await one.begun
        return one
      },
      durability: () => Promise.reject(new Error('not asked')),
      identity: () => Promise.reject(new Error('not asked')),
      read: () => Promise.reject(new Error('nothing is read here')),
      sweep: () => Promise.resolve(''),
      failureOf: (error, when) => {
        const outcome = when === 'commit' && (error as Error).message === 'gone' ? 'unknown' : 'not-done'
        const parts = { kind: 'refused', outcome, final: false, reason: 'test' } as const
        return new StoreFailure((error as Error).message, parts)
      },
    }
    this.transactions = new SqlTransactions(port, this.clock, 'once')
  }

  /** Adds an operation that writes its key's row. */
  add(key: string, mode: SqlTask['mode'] = 'write', validFor = BUDGET): Attempt {
    const now = this.clock.monotonic()
    const attempt = new Attempt(now + BUDGET, now + validFor)
    this.transactions.add({
      attempt,
      key,
      mode,
      reply: null,
      run: (space, late) => {
        if (!late) space.setText(key, { value: key, expires: 9_000 })
        return late ? 'late' : 'done'
      },
      settle: ({ result }) => this.answers.push(`${key} ${String(result)}`),
      fail: ({ outcome, reason }) => this.answers.push(`${key} ${outcome} ${reason}`),
    })
    return attempt
  }

  keys(): (readonly string[])[] {
    return this.asked.map(({ needs }) => needs.keys)
  }

  /** Lets what is ready go on. */
  async turn(): Promise<void> {
    await this.clock.advance(0)
  }
}

describe('gathering', () => {
  test('a lone operation begins at once; the others of its turn share a transaction, their keys in order', async () => {
    const bench = new Bench()
    for (const key of ['first', 'c', 'a', 'b', 'a']) bench.add(key)
    expect(bench.keys()).toEqual([['first']])
    await bench.turn()
    expect(bench.keys()).toEqual([['first'], ['a', 'b', 'c']])
  })

  test('an operation waits for the one before it on its key, and others go past it', async () => {
    const bench = new Bench()
    bench.add('a')
    bench.add('a')
    bench.add('b')
    await bench.turn()
    expect(bench.keys()).toEqual([['a'], ['b']])
    bench.asked[0]?.begin()
    bench.asked[0]?.end()
    await bench.turn()
    expect(bench.keys()).toEqual([['a'], ['b'], ['a']])
    expect(bench.answers).toEqual(['a done'])
  })

  test('a few transactions are under way at once; what comes meanwhile shares the next', async () => {
    const bench = new Bench()
    for (const key of ['a', 'b', 'c', 'd', 'e']) {
      bench.add(key)
      await bench.turn()
    }
    expect(bench.keys()).toEqual([['a'], ['b'], ['c']])
    bench.asked[0]?.begin()
    bench.asked[0]?.end()
    await bench.turn()
    expect(bench.keys().at(-1)).toEqual(['d', 'e'])
  })

  test('when one of several is to blame, each goes alone', async () => {
    const bench = new Bench()
    for (const key of ['first', 'a', 'b']) bench.add(key)
    await bench.turn()
    bench.asked[1]?.begin(new Error('no'))
    await bench.turn()
    expect(bench.keys().slice(2)).toEqual([['a'], ['b']])
    expect(bench.answers).toEqual([])
    bench.asked[2]?.begin(new Error('no'))
    bench.asked[3]?.begin()
    bench.asked[3]?.end()
    await bench.turn()
    expect(bench.answers).toEqual(['a not-done test', 'b done'])
  })
})

describe('answers', () => {
  test('A7: what was given up while its transaction began is not written', async () => {
    const bench = new Bench()
    const attempt = bench.add('a')
    attempt.abandoned = true
    bench.asked[0]?.begin()
    await bench.turn()
    expect(bench.asked[0]).toMatchObject({ ended: 'rolled back', committed: null })
    expect(bench.answers).toEqual(['a not-done abandoned'])
  })

  test('what grants says late beyond its last moment; what does not grant is done all the same', async () => {
    const bench = new Bench()
    bench.add('grant', 'late', 100)
    bench.add('release', 'write', 100)
    await bench.turn()
    await bench.clock.advance(101)
    for (const one of bench.asked) one.begin()
    await bench.turn()
    for (const one of bench.asked) one.end()
    await bench.turn()
    expect(bench.answers.sort()).toEqual(['grant late', 'release done'])
    expect(bench.asked[0]?.committed).toBeNull()
  })

  test('nobody is answered before the commit', async () => {
    const bench = new Bench()
    bench.add('a')
    bench.asked[0]?.begin()
    await bench.turn()
    expect(bench.asked[0]?.committed?.texts.get('a')).toEqual({ value: 'a', expires: 9_000 })
    expect(bench.answers).toEqual([])
    bench.asked[0]?.end()
    await bench.turn()
    expect(bench.answers).toEqual(['a done'])
  })

  test('a database that does not begin: not done, after a third of the budget; and nothing comes of it later', async () => {
    const bench = new Bench()
    const attempt = bench.add('a')
    await bench.clock.advance(WITHIN - 1)
    expect(bench.answers).toEqual([])
    await bench.clock.advance(1)
    expect(bench.answers).toEqual(['a not-done silent'])
    expect(attempt.sent).toBeNull()
    expect(bench.asked[0]?.giveUp.given).toBe(true)
    bench.asked[0]?.begin()
    await bench.turn()
    expect(bench.asked[0]?.committed).toBeNull()
    // The key is free for the next try.
    bench.add('a')
    expect(bench.asked).toHaveLength(2)
  })

  test('D1: while the event loop was blocked the database may have answered: it is heard, and given its time once more', async () => {
    const bench = new Bench()
    bench.add('heard')
    bench.add('silent')
    await bench.turn()
    bench.clock.blockFor(WITHIN + 50)
    bench.asked[0]?.begin()
    bench.asked[0]?.end()
    await bench.turn()
    expect(bench.answers).toEqual(['heard done'])
    await bench.clock.advance(WITHIN)
    expect(bench.answers).toEqual(['heard done', 'silent not-done silent'])
  })

  test('a database that does not answer the commit: unknown, and its connection is ended', async () => {
    const bench = new Bench()
    const attempt = bench.add('a')
    bench.asked[0]?.begin()
    await bench.clock.advance(WITHIN)
    expect(bench.answers).toEqual(['a unknown silent'])
    expect(bench.asked[0]?.ended).toBe('destroyed')
    expect(attempt.sent).not.toBeNull()
  })

  test('a commit that was refused is not done, one whose connection was lost is unknown', async () => {
    const bench = new Bench()
    const refused = bench.add('a')
    bench.asked[0]?.begin()
    await bench.turn()
    bench.asked[0]?.end(new Error('no'))
    await bench.turn()
    const lost = bench.add('b')
    bench.asked[1]?.begin()
    await bench.turn()
    bench.asked[1]?.end(new Error('gone'))
    await bench.turn()
    expect(bench.answers).toEqual(['a not-done test', 'b unknown test'])
    expect([refused.sent === null, lost.sent === null]).toEqual([true, false])
  })

  test('closing ends what waits, as not done', async () => {
    const bench = new Bench()
    bench.add('a')
    bench.add('a')
    bench.transactions.close()
    bench.add('b')
    expect(bench.answers).toEqual(['a not-done closed', 'b not-done closed'])
  })
})

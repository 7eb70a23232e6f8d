const FENCES = 'packages/lab/test/postgres/fences.test.ts'
const FAILURES = 'packages/lab/test/postgres/failures.test.ts'
const WITHIN = 'packages/lab/test/transactional/postgres-and-sqlite.test.ts'
const MEET = 'packages/lab/test/postgres/transactions-meet.test.ts'
const SESSION = 'packages/lab/test/postgres/session-lock.test.ts'
const STORE = 'packages/lab/test/postgres/store.test.ts'
const STATEMENTS = 'packages/holdfast/src/stores/postgres/statements.ts'

/**
 * The stores over SQL broken on purpose. Each entry must be caught by the test it names.
 * @type {Record<string, import('../../build/mutation.mjs').Mutant>}
 */
export const postgresMutants = {
  'rows-are-read-without-their-lock': {
    file: STATEMENTS,
    text: 'DO UPDATE SET key = held.key WHERE false`',
    replacement: 'DO NOTHING`',
    caughtBy: {
      file: FENCES,
      test: 'eight clients, 20 000 grants: no fence falls in the order of grants, and no lock has two holders',
    },
  },
  'clock-of-the-beginning-of-the-transaction': {
    file: STATEMENTS,
    text: "const NOW_MICROS = '(extract(epoch FROM clock_timestamp()) * 1000000)::bigint'",
    replacement: "const NOW_MICROS = '(extract(epoch FROM now()) * 1000000)::bigint'",
    caughtBy: {
      file: FAILURES,
      test: 'another transaction in the way > the lease begins when the row is got, not when the transaction begins',
    },
  },
  'silent-transaction-is-not-ended': {
    file: STATEMENTS,
    text: '`SET LOCAL idle_in_transaction_session_timeout = ${limits.within}`',
    replacement: '`SET LOCAL idle_in_transaction_session_timeout = 0`',
    caughtBy: {
      file: FAILURES,
      test: 'a connection that is lost, over pg > D17: a commit that is held up, and delivered when its connection is gone, grants nothing',
    },
  },
  'isolation-of-the-connection': {
    file: 'packages/holdfast/src/stores/postgres/pg-transaction.ts',
    text: 'BEGIN ISOLATION LEVEL READ COMMITTED;',
    replacement: 'BEGIN;',
    caughtBy: {
      file: FAILURES,
      test: 'a database that refuses > the isolation level of the connection does not matter',
    },
  },
  'lost-commit-taken-for-not-done': {
    file: 'packages/holdfast/src/stores/postgres/refusal.ts',
    text: "const done = when === 'before' || error instanceof ConnectionGone",
    replacement: "const done = when === 'before' || error instanceof Error",
    caughtBy: {
      file: FAILURES,
      test: 'a connection that is lost, over pg > A2: after the commit: unknown, and its owner finds that it has the lock, under the same fence',
    },
  },
  'one-key-takes-its-batch-along': {
    file: 'packages/holdfast/src/stores/sql/batch.ts',
    text: 'if (!again) for (const task of this.#tasks) task.fail(failure)',
    replacement: 'for (const task of this.#tasks) task.fail(failure)',
    caughtBy: {
      file: FAILURES,
      test: 'another transaction in the way > one key that is kept locked does not take the others of its batch along',
    },
  },
  'row-with-its-last-fence-is-swept': {
    file: STATEMENTS,
    text: 'greatest(expires_at, last_fence / 1000) + ${bounds.fenceRetention}',
    replacement: 'expires_at',
    caughtBy: {
      file: STORE,
      test: 'E15, I7: rows that are over are cleared away by those who write; a name keeps its row with its last fence',
    },
  },
  'claim-in-a-transaction-without-its-turn': {
    file: 'packages/holdfast/src/stores/sql/transactional-once.ts',
    text: "if (turn || step.result.kind !== 'claimed') return step",
    replacement: 'return step',
    caughtBy: {
      file: MEET,
      test: 'two transactions at one key > F4: the second is told at once, its own transaction goes on, and nobody gets a value before it is committed',
    },
  },
  'read-only-transaction-is-taken-for-a-standby': {
    file: 'packages/holdfast/src/stores/postgres/callers-transaction.ts',
    text: 'isReadOnly(error) && !this.#isStandby',
    replacement: 'isReadOnly(error) && this.#isStandby',
    caughtBy: {
      file: WITHIN,
      test: 'a transaction that may not write is told as that, and replays what is done (pg)',
    },
  },
  'record-outside-of-any-transaction': {
    file: 'packages/holdfast/src/stores/postgres/callers-transaction.ts',
    text: 'if (inside !== true) throw notInside()',
    replacement: '',
    caughtBy: {
      file: MEET,
      test: 'what is no transaction > a pool, a connection without BEGIN, sql of postgres.js',
    },
  },
  'error-that-is-not-final-keeps-its-claim': {
    file: 'packages/holdfast/src/idempotency/transactional-call.ts',
    text: 'await this.#complete(outcome, judged, attempt) : await this.#free()',
    replacement: 'await this.#complete(outcome, judged, attempt) : null',
    caughtBy: {
      file: WITHIN,
      test: 'idempotency in a transaction: sqlite > F8: an error that is not final frees the key, also when the caller commits all the same',
    },
  },
  'broken-transaction-is-believed': {
    file: 'packages/holdfast/src/idempotency/idempotency.ts',
    text: "if ('value' in ended) throw trouble\n    attach",
    replacement: "if ('value' in ended) return outcomeOf<T>(ended, false)\n    attach",
    caughtBy: {
      file: MEET,
      test: 'two transactions at one key > work that broke its transaction and returns all the same is not believed',
    },
  },
  'listens-to-strangers': {
    file: 'packages/holdfast/src/stores/postgres/wake-channel.ts',
    text: "Array.isArray(words) && words.every((word) => typeof word === 'string')",
    replacement: 'words !== undefined',
    caughtBy: {
      file: 'packages/lab/test/postgres/store.test.ts',
      test: 'waking over pg > what strangers say on its channel is not listened to',
    },
  },
  'session-lock-does-not-hear-its-connection': {
    file: 'packages/holdfast/src/stores/sql/session-held.ts',
    text: "session.onLost(() => this.#lose('missing'))",
    replacement: '',
    caughtBy: {
      file: SESSION,
      test: 'loss of the connection is loss of the lock: told at once, and free for others',
    },
  },
  'kept-row-is-told-as-a-refusal': {
    file: 'packages/holdfast/src/stores/sql/open-sql.ts',
    text: 'ROW_KEPT.has(error.reason)',
    replacement: "ROW_KEPT.has('')",
    caughtBy: {
      file: MEET,
      test: 'a call without a transaction at a key of one that is not committed > is told that it is in progress, or waits and replays what is committed',
    },
  },
}

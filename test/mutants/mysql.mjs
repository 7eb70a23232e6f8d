const F = 'packages/lab/test/mysql/own-server/failures.test.ts'
const L = 'packages/lab/test/mysql/own-server/session-lock.test.ts'
const T = 'packages/lab/test/mysql/transactions-meet.test.ts'

/**
 * The MySQL store broken on purpose. Each entry must be caught by the test it names.
 * @type {Record<string, import('../../build/mutation.mjs').Mutant>}
 */
export const mysqlMutants = {
  'late-commit-grants-on-mariadb': {
    file: 'packages/holdfast/src/stores/mysql/flavour.ts',
    text: '`IF ${NOW_MICROS} > ${until * 1_000} THEN ${late}; END IF`',
    replacement: '`SET @holdfast_late = ${until === 0 ? late : 0}`',
    caughtBy: {
      file: F,
      test: 'a connection that is lost > D17: a commit that is held up, and delivered when its time is over, grants nothing',
    },
  },
  'silent-transaction-keeps-its-rows': {
    file: 'packages/holdfast/src/stores/mysql/flavour.ts',
    text: 'SESSION idle_transaction_timeout = ${SILENCE_S}',
    replacement: 'SESSION idle_transaction_timeout = ${SILENCE_S * 60}',
    caughtBy: {
      file: F,
      test: 'a connection that is lost > a process that is silent in the middle of a transaction keeps its rows for about a second',
    },
  },
  'unknown-commit-is-told-as-not-done': {
    file: 'packages/holdfast/src/stores/mysql/refusal.ts',
    text: "outcome: when === 'before' ? 'not-done' : 'unknown',",
    replacement: "outcome: 'not-done',",
    caughtBy: {
      file: F,
      test: 'a connection that is lost > before the commit arrives: unknown, and nothing was done',
    },
  },
  'settings-of-the-session-stay-changed': {
    file: 'packages/holdfast/src/stores/mysql/flavour.ts',
    text: '      COMMIT,\n      RESTORE_MARIADB,\n',
    replacement: '      COMMIT,\n',
    caughtBy: {
      file: F,
      test: 'what is left behind > settings of the session are as they were, after commits, rollbacks and refusals',
    },
  },
  'long-key-is-sent': {
    file: 'packages/holdfast/src/stores/mysql/mysql-port.ts',
    text: 'if (long === undefined) return',
    replacement: 'if (long !== null) return',
    caughtBy: {
      file: F,
      test: 'the server refuses > a user without rights, a table that is missing, a key that is too long',
    },
  },
  'old-snapshot-hides-an-outcome': {
    file: 'packages/holdfast/src/stores/mysql/statements.ts',
    text: '`${this.#look(key)} FOR UPDATE`',
    replacement: '`${this.#look(key)}`',
    caughtBy: { file: T, test: 'a snapshot from before the first committed does not hide its outcome' },
  },
  'record-is-committed-by-itself': {
    file: 'packages/holdfast/src/stores/mysql/callers-transaction.ts',
    text: 'if ((locked.serverStatus & IN_TRANSACTION) === 0) throw notInside()',
    replacement: 'if (locked.serverStatus === -1) throw notInside()',
    caughtBy: { file: T, test: 'a pool, and a connection without a transaction, are refused' },
  },
  'lost-session-is-not-told': {
    file: 'packages/holdfast/src/stores/mysql/session-lock.ts',
    text: 'session.onGone((cause) => this.#onLost(cause))',
    replacement: 'session.onGone(() => undefined)',
    caughtBy: {
      file: L,
      test: 'loss of the connection is loss of the lock: told at once, and free for others',
    },
  },
}

const P = 'packages/lab/test/guards/postgres.test.ts'
const M = 'packages/lab/test/guards/mysql.test.ts'
const S = 'packages/lab/test/guards/sqlite.test.ts'
const R = 'packages/lab/test/guards/redis.test.ts'
const H = 'packages/lab/test/guards/http.test.ts'

/**
 * Guards at the resource broken on purpose. Each entry must be caught by the test it names.
 * @type {Record<string, import('../../build/mutation.mjs').Mutant>}
 */
export const guardMutants = {
  'registry-accepts-a-stale-fence': {
    file: 'packages/holdfast/src/fence/postgres-fence.ts',
    text: "WHERE kept.fence ${write.once ? '<' : '<='} excluded.fence AND ${SAME_LOCK}",
    replacement: 'WHERE ${SAME_LOCK}',
    caughtBy: {
      file: P,
      test: 'guards: pg > registry > accepts equal and higher fences and refuses a lower one, which changes nothing',
    },
  },
  'registry-refuses-the-holders-second-write': {
    file: 'packages/holdfast/src/fence/sqlite-fence.ts',
    text: '`fence <= excluded.fence AND ${SAME_LOCK}`',
    replacement: '`fence < excluded.fence AND ${SAME_LOCK}`',
    caughtBy: {
      file: S,
      test: 'guards: sqlite > registry > accepts equal and higher fences and refuses a lower one, which changes nothing',
    },
  },
  'once-takes-a-fence-twice': {
    file: 'packages/holdfast/src/fence/fence-column.ts',
    text: "`${column} ${once ? '<' : '<='} ${placeholder}`",
    replacement: '`${column} <= ${placeholder}`',
    caughtBy: {
      file: S,
      test: 'guards: sqlite > column > once: the same fence is refused the second time',
    },
  },
  'lone-statement-passes-for-a-transaction-on-postgres': {
    file: 'packages/holdfast/src/fence/postgres-fence.ts',
    text: 'WHERE now() <> statement_timestamp()',
    replacement: 'WHERE true',
    caughtBy: { file: P, test: 'guards: pg > is loud > outside of a transaction' },
  },
  'lone-statement-passes-for-a-transaction-on-mysql': {
    file: 'packages/holdfast/src/fence/mysql-fence.ts',
    text: 'serverStatus !== undefined && (serverStatus & IN_TRANSACTION) === 0',
    replacement: '(serverStatus as unknown) === IN_TRANSACTION + 100_000',
    caughtBy: { file: M, test: 'guards: mysql2 promise > is loud > outside of a transaction' },
  },
  'pool-passes-for-a-transaction': {
    file: 'packages/holdfast/src/fence/mysql-session.ts',
    text: "if ('getConnection' in (tx as object)) {",
    replacement: 'if (tx === null) {',
    caughtBy: { file: M, test: 'guards: mysql2 promise > is loud > about a pool, before anything is sent' },
  },
  'fence-without-order-is-compared': {
    file: 'packages/holdfast/src/fence/fence-source.ts',
    text: "if (fences === 'none') {",
    replacement: "if (fences === 'no such trait') {",
    caughtBy: {
      file: 'packages/holdfast/src/fence/fence-source.test.ts',
      test: 'what a guard compares > a held lock of a store that promises no order is refused, though it has a number',
    },
  },
  'fences-of-two-locks-are-compared': {
    file: 'packages/holdfast/src/fence/mysql-fence.ts',
    text: ' AND COALESCE(lock_name = VALUES(lock_name), TRUE)',
    replacement: '',
    caughtBy: {
      file: M,
      test: 'guards: mysql2 promise > registry > one resource, one lock name: the first is remembered, another refused',
    },
  },
  'raise-lowers': {
    file: 'packages/holdfast/src/fence/sqlite-fence.ts',
    text: "'max(fence, excluded.fence)'",
    replacement: "'excluded.fence'",
    caughtBy: {
      file: S,
      test: 'guards: sqlite > registry > raise shuts out everything below, and never lowers',
    },
  },
  'old-snapshot-hides-a-stale-fence': {
    file: 'packages/holdfast/src/fence/mysql-fence.ts',
    text: "' LOCK IN SHARE MODE'",
    replacement: "''",
    caughtBy: { file: M, test: 'a stale fence is told from the business condition in an old snapshot, too' },
  },
  'unchanged-row-counts-as-refused': {
    file: 'packages/holdfast/src/fence/mysql-fence.ts',
    text: 'if (matched !== undefined) return Number(matched)',
    replacement: '',
    caughtBy: {
      file: M,
      test: 'guards: mysql2 callback > column > a write that leaves the row as it is counts as written',
    },
  },
  'fences-are-compared-as-texts': {
    file: 'packages/holdfast/src/fence/lua/fenced-change.lua',
    text: 'if #a ~= #b then',
    replacement: 'if false then',
    caughtBy: { file: R, test: 'guards: redis over ioredis > compares fences by all their digits' },
  },
  'fence-ends-with-its-value': {
    file: 'packages/holdfast/src/fence/lua/fenced-change.lua',
    text: 'math.max(keep, ',
    replacement: 'math.max(1, ',
    caughtBy: {
      file: R,
      test: 'guards: redis over ioredis > a value whose time is over reads as absent, and its fence still refuses',
    },
  },
  'request-without-a-fence-passes': {
    file: 'packages/holdfast/src/http/fence/fence-check.ts',
    text: "if (read.kind === 'missing' && optional)",
    replacement: "if (read.kind === 'missing')",
    caughtBy: {
      file: H,
      test: 'express 5 > without a fence: 428, unless that is allowed; and what is no fence: 400',
    },
  },
}

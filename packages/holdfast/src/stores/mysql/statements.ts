import { bounds } from '../../defaults.ts'
import type { QueueEntry } from '../../store/wait-queue.ts'
import type { LockRow, SqlChanges, SqlFound, SqlKind, SqlNeeds, TextRow } from '../sql/port.ts'
import { literal, literals } from './literal.ts'
import type { MysqlNames } from './names.ts'
import type { SqlTable } from '../sql/names.ts'
import type { Row } from './session.ts'

/** Rows that one sweep looks at. */
export const SWEPT_AT_ONCE = 200
/** When the statement began, in UTC: no time zone and no change of the hour has a say in it. */
export const NOW_MICROS = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))"
const NOW_MS = `(${NOW_MICROS} DIV 1000)`
/** Whatever `completion_type` says: the connection stays, and no other transaction begins. */
export const COMMIT = 'COMMIT AND NO CHAIN NO RELEASE'
export const ROLLBACK = 'ROLLBACK AND NO CHAIN NO RELEASE'
/** Without it `sql_select_limit` of the session holds, and rows would be missing. */
const ALL_ROWS = 'LIMIT 18446744073709551615'

/** The statements of a store. */
export class MysqlStatements {
  readonly #names: MysqlNames

  constructor(names: MysqlNames) {
    this.#names = names
  }

  /** Locks the rows, and makes those that are missing. */
  lock(kind: SqlKind, keys: readonly string[]): string {
    const [columns, rest] = kind === 'lock' ? ['`key`', ''] : ['`key`, `value`, expires_at', ", X'', 0"]
    const rows = keys.map((key) => `(${literal(key)}${rest})`).join(', ')
    return `INSERT INTO ${this.#names.of(kind)} (${columns}) VALUES ${rows} ON DUPLICATE KEY UPDATE expires_at = expires_at`
  }

  /** The clock, whether statements are committed by themselves, and all rows, each with a letter that says what it is. */
  read({ kind, keys, replies }: SqlNeeds): string {
    const of = (
      letter: string,
      columns: string,
      table: SqlTable,
      key: string,
      ids: readonly string[],
    ): string =>
      `SELECT '${letter}', ${columns} FROM ${this.#names.of(table)} WHERE ${key} IN (${literals(ids)})`
    const parts = [`SELECT 'n', '', NULL, NULL, ${NOW_MICROS}, @@SESSION.autocommit, 0`]
    if (kind === 'lock') {
      parts.push(of('l', '`key`, owner, trace, fence, expires_at, last_fence', 'lock', '`key`', keys))
      parts.push(of('w', '`key`, process, NULL, place, beat, woken', 'queue', '`key`', keys))
    } else {
      parts.push(of('t', '`key`, `value`, NULL, expires_at, 0, 0', kind, '`key`', keys))
    }
    if (replies.length > 0)
      parts.push(of('r', 'id, `value`, NULL, expires_at, 0, 0', 'limit_reply', 'id', replies))
    return `${parts.join(' UNION ALL ')} ${ALL_ROWS}`
  }

  /** Before the commit. All rows of the keys are there, and locked. */
  write(kind: SqlKind, changes: SqlChanges): string[] {
    const texts = [...changes.texts]
    const kept = texts.filter((entry): entry is [string, TextRow] => entry[1] !== null)
    const gone = texts.filter(([, row]) => row === null).map(([key]) => key)
    const statements = [
      this.#writeLocks([...changes.locks]),
      ...this.#writeWaiters(changes),
      this.#writeTexts(kind, '`key`', kept),
      gone.length === 0 ? '' : `DELETE FROM ${this.#names.of(kind)} WHERE \`key\` IN (${literals(gone)})`,
      this.#writeTexts('limit_reply', 'id', [...changes.replies]),
    ]
    return statements.filter((statement) => statement !== '')
  }

  /** Reads the row of a key that runs once, as it is now: a plain SELECT would see it as it was when the transaction began. */
  lookLocked(key: string): string {
    return `${this.#look(key)} FOR UPDATE`
  }

  /** Reads the row without waiting for whoever has it. */
  lookPast(key: string): string {
    return this.#look(key)
  }

  /** Fails at once where another transaction has one of the rows. */
  probe(keys: readonly string[]): string {
    return `SELECT 1 FROM ${this.#names.of('once')} WHERE \`key\` IN (${literals(keys)}) FOR UPDATE NOWAIT`
  }

  /** The name of who may wait for the row of a key that runs once. Of at most 64 characters, and for the whole server. */
  turn(key: string): string {
    const place = `CONCAT_WS('.', DATABASE(), ${literal(`${this.#names.of('once')} ${key}`)})`
    return `CONCAT('holdfast:', LEFT(SHA2(${place}, 256), 50))`
  }

  /** When a statement begins. */
  now(): string {
    return `SELECT ${NOW_MS}`
  }

  /** Changes the row of a key that runs once if `before` stands there. */
  put(key: string, row: TextRow | null, before: TextRow | null): string {
    const table = this.#names.of('once')
    const unchanged = `\`key\` = ${literal(key)} AND \`value\` = ${literal(before?.value ?? '')} AND expires_at = ${before?.expires ?? 0}`
    if (row === null) return `DELETE FROM ${table} WHERE ${unchanged}`
    return `UPDATE ${table} SET \`value\` = ${literal(row.value)}, expires_at = ${row.expires} WHERE ${unchanged}`
  }

  /** The next rows of a table, and whether each is over. */
  sweepLook(table: SqlKind, after: string): string {
    const order = `WHERE \`key\` > ${literal(after)} ORDER BY \`key\` LIMIT ${SWEPT_AT_ONCE}`
    return `SELECT \`key\`, ${isOver(table)} FROM ${this.#names.of(table)} ${order}`
  }

  /** Replies that are over. */
  sweepReplies(): string {
    return `SELECT id, ${isOver('limit_reply')} FROM ${this.#names.of('limit_reply')} WHERE expires_at <= ${NOW_MS} LIMIT ${SWEPT_AT_ONCE}`
  }

  /** Those of the rows that are over and that nobody has locked, locked. */
  sweepLock(table: SqlTable, key: string, keys: readonly string[]): string {
    const over = `${key} IN (${literals(keys)}) AND ${isOver(table)}`
    return `SELECT ${key} FROM ${this.#names.of(table)} WHERE ${over} FOR UPDATE SKIP LOCKED`
  }

  sweepDelete(table: SqlTable, key: string, keys: readonly string[]): string {
    return `DELETE FROM ${this.#names.of(table)} WHERE ${key} IN (${literals(keys)})`
  }

  /** Waiters that have given no sign of life for long, locked. */
  deadWaiters(): string {
    const dead = `beat < ${NOW_MS} - ${bounds.waiterDeadAfter}`
    return `SELECT \`key\`, process FROM ${this.#names.of('queue')} WHERE ${dead} LIMIT ${SWEPT_AT_ONCE} FOR UPDATE SKIP LOCKED`
  }

  deleteWaiters(waiters: readonly (readonly [string, string])[]): string {
    const one = waiters.map(
      ([key, process]) => `(\`key\` = ${literal(key)} AND process = ${literal(process)})`,
    )
    return `DELETE FROM ${this.#names.of('queue')} WHERE ${one.join(' OR ')}`
  }

  #look(key: string): string {
    const columns = `${NOW_MS}, \`value\`, expires_at`
    return `SELECT ${columns} FROM ${this.#names.of('once')} WHERE \`key\` = ${literal(key)}`
  }

  #writeLocks(rows: readonly (readonly [string, LockRow])[]): string {
    if (rows.length === 0) return ''
    const values = rows.map(
      ([key, { owner, fence, trace, expires, last }]) =>
        `(${literal(key)}, ${literal(owner)}, ${fence}, ${literal(trace)}, ${expires}, ${last})`,
    )
    const columns = ['owner', 'fence', 'trace', 'expires_at', 'last_fence']
    return this.#upsert('lock', '`key`', columns, values)
  }

  #writeWaiters({ waiters }: SqlChanges): string[] {
    const kept: string[] = []
    const gone: (readonly [string, string])[] = []
    for (const { key, process, entry } of waiters) {
      if (entry === null) gone.push([key, process])
      else {
        const { place, beat, woken } = entry
        kept.push(`(${literal(key)}, ${literal(process)}, ${place}, ${beat}, ${woken ? 1 : 0})`)
      }
    }
    const statements: string[] = []
    if (kept.length > 0)
      statements.push(this.#upsert('queue', '`key`, process', ['place', 'beat', 'woken'], kept))
    if (gone.length > 0) statements.push(this.deleteWaiters(gone))
    return statements
  }

  #writeTexts(table: SqlTable, key: string, rows: readonly (readonly [string, TextRow])[]): string {
    if (rows.length === 0) return ''
    const values = rows.map(([id, { value, expires }]) => `(${literal(id)}, ${literal(value)}, ${expires})`)
    return this.#upsert(table, key, ['`value`', 'expires_at'], values)
  }

  #upsert(table: SqlTable, key: string, columns: readonly string[], values: readonly string[]): string {
    const changes = columns.map((column) => `${column} = VALUES(${column})`).join(', ')
    return `INSERT INTO ${this.#names.of(table)} (${key}, ${columns.join(', ')}) VALUES ${values.join(', ')}
      ON DUPLICATE KEY UPDATE ${changes}`
  }
}

/** The row of a lock goes when its last fence cannot matter any more. */
function isOver(table: SqlTable): string {
  const last =
    table === 'lock' ? `GREATEST(expires_at, last_fence DIV 1000) + ${bounds.fenceRetention}` : 'expires_at'
  return `(${last} <= ${NOW_MS})`
}

/** Whether a statement that stands alone has begun a transaction, in which the session still is. */
export function hasBegun(rows: readonly Row[]): boolean {
  return rows.some(([letter, , , , , autocommit]) => letter === 'n' && autocommit === '0')
}

/** What {@link MysqlStatements.read} brought. */
export function foundIn(rows: readonly Row[]): SqlFound {
  let nowMicros = 0
  const locks = new Map<string, LockRow>()
  const waiters = new Map<string, QueueEntry[]>()
  const texts = new Map<string, TextRow>()
  const replies = new Map<string, TextRow>()
  for (const [letter, key = '', text, trace, first, second, third] of rows as readonly [string, string][] &
    readonly Row[]) {
    const [x, y, z] = [Number(first), Number(second), Number(third)]
    if (letter === 'n') nowMicros = x
    else if (letter === 'l')
      locks.set(key, { owner: text ?? null, trace: trace ?? null, fence: x, expires: y, last: z })
    else if (letter === 'w') {
      const queue = waiters.get(key) ?? []
      waiters.set(key, queue)
      queue.push({ process: text ?? '', place: x, beat: y, woken: z === 1 })
    } else (letter === 't' ? texts : replies).set(key, { value: text ?? '', expires: x })
  }
  return { nowMicros, locks, waiters, texts, replies }
}

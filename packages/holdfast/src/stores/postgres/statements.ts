import { bounds } from '../../defaults.ts'
import type { QueueEntry } from '../../store/wait-queue.ts'
import type {
  LockRow,
  SqlBounds,
  SqlChanges,
  SqlFound,
  SqlKind,
  SqlNeeds,
  SqlPush,
  TextRow,
} from '../sql/port.ts'
import { literal, literals, readText } from './literal.ts'
import type { PostgresNames } from './names.ts'
import type { SqlTable } from '../sql/names.ts'

/** Rows that one sweep looks at. */
const SWEPT_AT_ONCE = 200
/** Set when all locks were got, and looked for before anything is written: a connection that was replaced meanwhile has none. */
const MARK = 'holdfast_begun'
/** Keeps the turns of keys apart from other advisory locks of the database. */
const TURN_SEED = 4_711_000_001
const NOW_MICROS = '(extract(epoch FROM clock_timestamp()) * 1000000)::bigint'
const NOW_MS = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint'

/** Whether the server follows another one. */
export const IS_STANDBY = 'pg_is_in_recovery()'

/** As they are for the user of the client. */
export const DURABILITY =
  "SELECT current_setting('synchronous_commit') || ' ' || current_setting('fsync') AS state"

/** The data's own name, which standbys have as well, and since when this server runs. */
export const IDENTITY =
  "SELECT system_identifier || ' ' || extract(epoch FROM pg_postmaster_start_time()) AS state FROM pg_control_system()"

/** The channel on which a process is told something. */
export function channelOf(process: string): string {
  return `holdfast_${process}`
}

/**
 * The statements of a store, as texts that go to the server in one message each: a transaction costs two round trips.
 */
export class PostgresStatements {
  readonly #names: PostgresNames

  constructor(names: PostgresNames) {
    this.#names = names
  }

  /**
   * After `BEGIN`: locks the rows, makes those that are missing, and reads them. A conflict locks the row although the condition
   * keeps it as it is; what the next statement reads, the clock included, is of after that.
   */
  open(needs: SqlNeeds, limits: SqlBounds): string {
    const rows = needs.keys.map((key) => `(${literal(key)})`).join(', ')
    return [
      `SET LOCAL lock_timeout = ${limits.lockWait}`,
      `SET LOCAL statement_timeout = ${limits.within}`,
      `SET LOCAL idle_in_transaction_session_timeout = ${limits.within}`,
      `INSERT INTO ${this.#names.of(needs.kind)} AS held (key) VALUES ${rows} ON CONFLICT (key) DO UPDATE SET key = held.key WHERE false`,
      this.read(needs),
      `SAVEPOINT ${MARK}`,
    ].join(';\n')
  }

  /** One row of one text, which {@link foundIn} reads: it comes through whatever a client makes of numbers and names. */
  read({ kind, keys, replies }: SqlNeeds): string {
    const parts = [`'now', ${NOW_MICROS}`]
    if (kind === 'lock') {
      parts.push(
        `'locks', ${this.#rows('lock', 'key, owner, fence, trace, expires_at, last_fence', 'key', keys)}`,
      )
      parts.push(`'waiters', ${this.#rows('queue', 'key, process, place, beat, woken', 'key', keys)}`)
    } else {
      parts.push(`'texts', ${this.#rows(kind, 'key, value, expires_at', 'key', keys)}`)
    }
    if (replies.length > 0)
      parts.push(`'replies', ${this.#rows('limit_reply', 'id, value, expires_at', 'id', replies)}`)
    return `SELECT json_build_object(${parts.join(', ')})::text AS state`
  }

  /** Before `COMMIT`: writes all changes. */
  write(kind: SqlKind, changes: SqlChanges): string {
    const texts = [...changes.texts]
    const kept = texts.filter((entry): entry is [string, TextRow] => entry[1] !== null)
    const gone = texts.filter(([, row]) => row === null).map(([key]) => key)
    const statements = [
      `RELEASE SAVEPOINT ${MARK}`,
      this.#writeLocks([...changes.locks]),
      ...this.#writeWaiters(changes),
      this.#writeTexts(kind, kept),
      gone.length === 0 ? '' : `DELETE FROM ${this.#names.of(kind)} WHERE key IN (${literals(gone)})`,
      this.#writeReplies([...changes.replies]),
      ...changes.pushes.map(notify),
    ]
    return statements.filter((statement) => statement !== '').join(';\n')
  }

  /**
   * From within a transaction of the caller's: takes the turn of a key without waiting, unless it is done, and then reads its row: in
   * a statement of its own, which sees what was committed before the turn was taken. By the simple protocol a statement that is a transaction by
   * itself begins at the very same moment as that.
   */
  look(key: string): string {
    const table = this.#names.of('once')
    const done = `SELECT FROM ${table} WHERE key = ${literal(key)} AND value LIKE 'done %' AND expires_at > ${NOW_MS}`
    const turn = `CASE WHEN EXISTS (${done}) THEN NULL ELSE pg_try_advisory_xact_lock(hashtextextended(${literal(key)}, ${TURN_SEED})) END`
    const inside = 'transaction_timestamp() <> statement_timestamp()'
    const first = `SELECT json_build_object('inside', ${inside}, 'turn', ${turn}, 'standby', ${IS_STANDBY})::text AS state`
    return `${first};\n${this.read({ kind: 'once', keys: [key], replies: [] })}`
  }

  /** Changes the row of a key that runs once if `before` stands there; says whether it did. */
  put(key: string, row: TextRow | null, before: TextRow | null): string {
    const table = this.#names.of('once')
    const unchanged = `held.value = ${literal(before?.value ?? '')} AND held.expires_at = ${before?.expires ?? 0}`
    const gone = `DELETE FROM ${table} AS held WHERE key = ${literal(key)} AND ${unchanged} RETURNING 1`
    const kept =
      row === null
        ? gone
        : `INSERT INTO ${table} AS held (key, value, expires_at) VALUES ${textValues([[key, row]])} ON CONFLICT (key)
          DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at WHERE ${unchanged} RETURNING 1`
    return `WITH changed AS (${kept}) SELECT (count(*) = 1)::text FROM changed`
  }

  /** See `SqlPort.sweep`. The row of a lock goes when its last fence cannot matter any more. */
  sweep(kind: SqlKind, after: string): string {
    const first = this.#sweepTable(kind, 'key', after)
    if (kind === 'limit') return `${this.#sweepTable('limit_reply', 'id', '', true)};\n${first}`
    if (kind !== 'lock') return first
    const dead = `beat < ${NOW_MS} - ${bounds.waiterDeadAfter}`
    const queue = this.#names.of('queue')
    const looked = `SELECT ctid FROM ${queue} WHERE ${dead} LIMIT ${SWEPT_AT_ONCE} FOR UPDATE SKIP LOCKED`
    return `DELETE FROM ${queue} WHERE ctid = ANY(ARRAY(${looked})) AND ${dead};\n${first}`
  }

  #sweepTable(table: SqlTable, key: string, after: string, fromAnywhere = false): string {
    const name = this.#names.of(table)
    const last =
      table === 'lock' ? `greatest(expires_at, last_fence / 1000) + ${bounds.fenceRetention}` : 'expires_at'
    const isOver = `${last} <= ${NOW_MS}`
    const order = fromAnywhere ? `WHERE ${isOver}` : `WHERE ${key} > ${literal(after)} ORDER BY ${key}`
    const looked = `SELECT ${key}, ${last} AS last FROM ${name} ${order} LIMIT ${SWEPT_AT_ONCE}`
    const over = `SELECT ${key} FROM ${name} WHERE ${key} IN (SELECT ${key} FROM looked) AND ${isOver} FOR UPDATE SKIP LOCKED`
    const gone = `DELETE FROM ${name} WHERE ${key} IN (SELECT ${key} FROM over) AND ${isOver}`
    const end = `CASE WHEN count(*) < ${SWEPT_AT_ONCE} THEN '' ELSE max(${key}) END`
    return `WITH looked AS (${looked}), over AS (${over}), gone AS (${gone}) SELECT ${end} AS state FROM looked`
  }

  #rows(table: SqlTable, columns: string, key: string, keys: readonly string[]): string {
    const name = this.#names.of(table)
    return `(SELECT json_agg(json_build_array(${columns})) FROM ${name} WHERE ${key} IN (${literals(keys)}))`
  }

  #writeLocks(rows: readonly (readonly [string, LockRow])[]): string {
    if (rows.length === 0) return ''
    const values = rows.map(
      ([key, { owner, fence, trace, expires, last }]) =>
        `(${literal(key)}, ${literal(owner)}::text, ${fence}::bigint, ${literal(trace)}::text, ${expires}::bigint, ${last}::bigint)`,
    )
    return `UPDATE ${this.#names.of('lock')} AS held SET owner = v.owner, fence = v.fence, trace = v.trace, expires_at = v.expires_at,
      last_fence = v.last_fence FROM (VALUES ${values.join(', ')}) AS v (key, owner, fence, trace, expires_at, last_fence)
      WHERE held.key = v.key`
  }

  #writeWaiters({ waiters }: SqlChanges): string[] {
    const queue = this.#names.of('queue')
    const kept: string[] = []
    const gone: string[] = []
    for (const { key, process, entry } of waiters) {
      const who = `${literal(key)}, ${literal(process)}`
      if (entry === null) gone.push(`(${who})`)
      else kept.push(`(${who}, ${entry.place}, ${entry.beat}, ${entry.woken})`)
    }
    const statements: string[] = []
    if (kept.length > 0)
      statements.push(
        `INSERT INTO ${queue} (key, process, place, beat, woken) VALUES ${kept.join(', ')} ON CONFLICT (key, process)
          DO UPDATE SET place = excluded.place, beat = excluded.beat, woken = excluded.woken`,
      )
    if (gone.length > 0) statements.push(`DELETE FROM ${queue} WHERE (key, process) IN (${gone.join(', ')})`)
    return statements
  }

  #writeTexts(table: SqlTable, rows: readonly (readonly [string, TextRow])[]): string {
    if (rows.length === 0) return ''
    return `UPDATE ${this.#names.of(table)} AS held SET value = v.value, expires_at = v.expires_at
      FROM (VALUES ${textValues(rows)}) AS v (key, value, expires_at) WHERE held.key = v.key`
  }

  #writeReplies(rows: readonly (readonly [string, TextRow])[]): string {
    if (rows.length === 0) return ''
    return `INSERT INTO ${this.#names.of('limit_reply')} (id, value, expires_at) VALUES ${textValues(rows)}
      ON CONFLICT (id) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at`
  }
}

/** What {@link PostgresStatements.read} brought. */
export function foundIn(state: string): SqlFound {
  const read = JSON.parse(state) as {
    now: number
    locks?: [string, string | null, number, string | null, number, number][] | null
    waiters?: [string, string, number, number, boolean][] | null
    texts?: [string, string, number][] | null
    replies?: [string, string, number][] | null
  }
  const locks = new Map<string, LockRow>()
  for (const [key, owner, fence, trace, expires, last] of read.locks ?? []) {
    const row = { owner: textOrNull(owner), fence, trace: textOrNull(trace), expires, last }
    locks.set(readText(key), row)
  }
  const waiters = new Map<string, QueueEntry[]>()
  for (const [key, process, place, beat, woken] of read.waiters ?? []) {
    const queue = waiters.get(readText(key)) ?? []
    waiters.set(readText(key), queue)
    queue.push({ process, place, beat, woken })
  }
  return { nowMicros: read.now, locks, waiters, texts: textRows(read.texts), replies: textRows(read.replies) }
}

function textRows(rows: readonly [string, string, number][] | null | undefined): Map<string, TextRow> {
  return new Map(
    (rows ?? []).map(([key, value, expires]) => [readText(key), { value: readText(value), expires }]),
  )
}

function textOrNull(text: string | null): string | null {
  return text === null ? null : readText(text)
}

function textValues(rows: readonly (readonly [string, TextRow])[]): string {
  return rows
    .map(([key, { value, expires }]) => `(${literal(key)}, ${literal(value)}::text, ${expires}::bigint)`)
    .join(', ')
}

/** A payload has room for 8000 bytes; who gets an empty one asks about everything. */
const MOST_PAYLOAD_BYTES = 7_900

function notify(push: SqlPush): string {
  const payload = JSON.stringify(push.word === 'free' ? [push.key] : [push.key, push.owner])
  const fits = Buffer.byteLength(payload) <= MOST_PAYLOAD_BYTES
  return `SELECT pg_notify(${literal(channelOf(push.process))}, ${literal(fits ? payload : '')})`
}

import { StoreFailure } from '../../store/failure.ts'
import type { SqliteDatabase } from './database.ts'

/** Written into the database, so that a later version knows what it finds. */
const SCHEMA_VERSION = '1'

interface Column {
  readonly name: string
  readonly type: string
}

interface Table {
  readonly name: string
  readonly columns: readonly Column[]
  readonly key: string
}

const text = (name: string): Column => ({ name, type: 'TEXT' })
const integer = (name: string): Column => ({ name, type: 'INTEGER' })

/** Times are in milliseconds since 1970. Only `trace` may be NULL. */
const TABLES: readonly Table[] = [
  { name: 'holdfast_meta', columns: [text('name'), text('value')], key: 'name' },
  {
    name: 'holdfast_lock',
    columns: [text('key'), text('owner'), integer('fence'), text('trace'), integer('expires_at')],
    key: 'key',
  },
  {
    name: 'holdfast_queue',
    columns: [text('key'), text('process'), integer('place'), integer('beat')],
    key: 'key, process',
  },
  { name: 'holdfast_last_fence', columns: [text('key'), integer('last')], key: 'key' },
  { name: 'holdfast_limit', columns: [text('key'), text('value'), integer('expires_at')], key: 'key' },
  { name: 'holdfast_limit_reply', columns: [text('key'), text('value'), integer('expires_at')], key: 'key' },
  { name: 'holdfast_once', columns: [text('key'), text('value'), integer('expires_at')], key: 'key' },
]

/**
 * Makes our tables where they are missing, and checks those that are there. To be called inside a transaction; several
 * processes may do so one after another.
 *
 * @throws StoreFailure when a table of that name has another shape, or a later version of this library made them
 */
export function ensureSchema(database: SqliteDatabase): void {
  for (const table of TABLES) {
    database.exec(createStatement(table))
    checkShape(database, table)
  }
  database
    .prepare("INSERT INTO holdfast_meta (name, value) VALUES ('schema', ?) ON CONFLICT DO NOTHING")
    .run(SCHEMA_VERSION)
  const row = database.prepare("SELECT value FROM holdfast_meta WHERE name = 'schema'").get() as {
    value: string
  }
  if (row.value === SCHEMA_VERSION) return
  throw refused(
    `the tables in the database are of schema ${row.value}, this version knows schema ${SCHEMA_VERSION}`,
    'Use the version of Holdfast that made them, or another file.',
  )
}

function createStatement({ name, columns, key }: Table): string {
  const lines = columns.map(
    (column) => `${column.name} ${column.type}${column.name === 'trace' ? '' : ' NOT NULL'}`,
  )
  return `CREATE TABLE IF NOT EXISTS ${name} (${lines.join(', ')}, PRIMARY KEY (${key})) STRICT, WITHOUT ROWID`
}

function checkShape(database: SqliteDatabase, { name, columns }: Table): void {
  const kind = database.prepare('SELECT type FROM sqlite_master WHERE name = ?').get(name) as
    { type: string } | undefined
  const found = database.prepare('SELECT name, type FROM pragma_table_info(?)').all(name) as Column[]
  const shape = (list: readonly Column[]): string =>
    list.map((column) => `${column.name} ${column.type}`).join(', ')
  if (kind?.type === 'table' && shape(found) === shape(columns)) return
  throw refused(
    `"${name}" in the database is another's: a ${kind?.type ?? 'thing'} of (${shape(found)})`,
    'Rename it, or give the store a file of its own.',
  )
}

function refused(message: string, remedy: string): StoreFailure {
  return new StoreFailure(message, {
    kind: 'refused',
    outcome: 'not-done',
    final: true,
    reason: 'SCHEMA',
    remedy,
  })
}

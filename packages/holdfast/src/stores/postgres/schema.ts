import type { SqlTable } from '../sql/names.ts'
import { namesFor, type PostgresNames, type PostgresTableOptions } from './names.ts'

/** Written into the database, so that a later version knows what it finds. */
export const SCHEMA_VERSION = '1'

/** Times are in milliseconds since 1970. Room is left in each page, so that a changed row stays where its index looks for it. */
const COLUMNS: Readonly<Record<SqlTable, readonly string[]>> = {
  meta: ['name text PRIMARY KEY', 'value text NOT NULL'],
  lock: [
    'key text COLLATE "C" PRIMARY KEY',
    'owner text',
    'fence bigint NOT NULL DEFAULT 0',
    'trace text',
    'expires_at bigint NOT NULL DEFAULT 0',
    'last_fence bigint NOT NULL DEFAULT 0',
  ],
  queue: [
    'key text COLLATE "C" NOT NULL',
    'process text COLLATE "C" NOT NULL',
    'place bigint NOT NULL',
    'beat bigint NOT NULL',
    'woken boolean NOT NULL',
    'PRIMARY KEY (key, process)',
  ],
  limit: textColumns('key'),
  limit_reply: textColumns('id'),
  once: textColumns('key'),
}

export const TABLES = Object.keys(COLUMNS) as readonly SqlTable[]

/**
 * The statements that make the tables of a Postgres store, for those who keep their schema in files. They change nothing where
 * the tables are there already. `store.migrate()` runs the same.
 *
 * @throws InvalidArgumentError that names option, value and remedy
 */
export function postgresSchema(options: PostgresTableOptions = {}): string {
  return schemaText(namesFor(options, 'postgresSchema'))
}

export function schemaText(names: PostgresNames): string {
  const schema = names.place === null ? [] : [`CREATE SCHEMA IF NOT EXISTS "${names.place}";`]
  const meta = `INSERT INTO ${names.of('meta')} (name, value) VALUES ('schema', '${SCHEMA_VERSION}') ON CONFLICT DO NOTHING;`
  return [...schema, ...TABLES.map((table) => createStatement(names, table)), meta].join('\n') + '\n'
}

export function createStatement(names: PostgresNames, table: SqlTable): string {
  const columns = COLUMNS[table].join(',\n  ')
  const room = table === 'meta' ? '' : ' WITH (fillfactor = 70)'
  return `CREATE TABLE IF NOT EXISTS ${names.of(table)} (\n  ${columns}\n)${room};`
}

function textColumns(key: string): readonly string[] {
  return [
    `${key} text COLLATE "C" PRIMARY KEY`,
    "value text NOT NULL DEFAULT ''",
    'expires_at bigint NOT NULL DEFAULT 0',
  ]
}

import { namesFor, type MysqlNames, type MysqlTableOptions } from './names.ts'
import type { SqlTable } from '../sql/names.ts'

/** Written into the database, so that a later version knows what it finds. */
export const SCHEMA_VERSION = '1'

/** The longest key in bytes: with the name of a process behind it, it still fits into an index of InnoDB. */
export const MAX_KEY_BYTES = 2_000

/**
 * Times are in milliseconds since 1970. Texts are kept as the bytes of their UTF-8: no collation takes two for one, and no
 * connection's character set changes them.
 */
const COLUMNS: Readonly<Record<SqlTable, readonly string[]>> = {
  meta: ['`name` VARBINARY(64) NOT NULL PRIMARY KEY', '`value` VARBINARY(64) NOT NULL'],
  lock: [
    `\`key\` VARBINARY(${MAX_KEY_BYTES}) NOT NULL PRIMARY KEY`,
    'owner BLOB NULL',
    'fence BIGINT NOT NULL DEFAULT 0',
    'trace BLOB NULL',
    'expires_at BIGINT NOT NULL DEFAULT 0',
    'last_fence BIGINT NOT NULL DEFAULT 0',
  ],
  queue: [
    `\`key\` VARBINARY(${MAX_KEY_BYTES}) NOT NULL`,
    'process VARBINARY(64) NOT NULL',
    'place BIGINT NOT NULL',
    'beat BIGINT NOT NULL',
    'woken BOOLEAN NOT NULL',
    'PRIMARY KEY (`key`, process)',
  ],
  limit: textColumns('`key`'),
  // Replies come in no order and are soon over: a sweeper must find those that are.
  limit_reply: [...textColumns('id'), 'KEY expires_at (expires_at)'],
  once: textColumns('`key`'),
}

export const TABLES = Object.keys(COLUMNS) as readonly SqlTable[]

/**
 * The statements that make the tables of a MySQL store, for those who keep their schema in files. They change nothing where
 * the tables are there already. `store.migrate()` runs the same.
 *
 * @throws InvalidArgumentError that names option, value and remedy
 */
export function mysqlSchema(options: MysqlTableOptions = {}): string {
  const statements = schemaStatements(namesFor(options, 'mysqlSchema'))
  return statements.map((statement) => `${statement};\n`).join('')
}

export function schemaStatements(names: MysqlNames): readonly string[] {
  const meta = `INSERT IGNORE INTO ${names.of('meta')} (\`name\`, \`value\`) VALUES ('schema', '${SCHEMA_VERSION}')`
  return [...TABLES.map((table) => createStatement(names, table)), meta]
}

export function createStatement(names: MysqlNames, table: SqlTable): string {
  return `CREATE TABLE IF NOT EXISTS ${names.of(table)} (\n  ${COLUMNS[table].join(',\n  ')}\n) ENGINE=InnoDB`
}

function textColumns(key: string): readonly string[] {
  return [
    `${key} VARBINARY(${MAX_KEY_BYTES}) NOT NULL PRIMARY KEY`,
    '`value` LONGBLOB NOT NULL',
    'expires_at BIGINT NOT NULL',
  ]
}

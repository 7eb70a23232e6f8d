import type { MariadbOptions } from './mariadb.ts'
import { startMysql } from './mysql.ts'
import type { MysqlServer } from './mysql.ts'
import { startPostgres } from './postgres.ts'
import type { PostgresOptions, PostgresServer } from './postgres.ts'

/**
 * A database to work with: one of our own, or one that belongs to somebody. Of somebody's, everything has to stay in tables
 * of fresh names that are dropped again, and nobody may stop or configure the server: the type offers no handle.
 */
export type SqlToUse<Server> =
  | { readonly owned: true; readonly url: string; readonly server: Server; stop(): Promise<void> }
  | { readonly owned: false; readonly url: string; stop(): Promise<void> }

/** The Postgres that HOLDFAST_POSTGRES_URL names, or else one of our own. */
export function postgresUrlOrStart(options: PostgresOptions = {}): Promise<SqlToUse<PostgresServer>> {
  return urlOrStart('HOLDFAST_POSTGRES_URL', () => startPostgres(options))
}

/** The MariaDB or MySQL that HOLDFAST_MYSQL_URL names, or else one of our own. */
export function mysqlUrlOrStart(options: MariadbOptions = {}): Promise<SqlToUse<MysqlServer>> {
  return urlOrStart('HOLDFAST_MYSQL_URL', () => startMysql(options))
}

async function urlOrStart<Server extends { readonly url: string; stop(): Promise<void> }>(
  variable: string,
  start: () => Promise<Server>,
): Promise<SqlToUse<Server>> {
  const url = process.env[variable]
  if (url !== undefined && url !== '') return { owned: false, url, stop: async () => {} }
  const server = await start()
  return { owned: true, url: server.url, server, stop: () => server.stop() }
}

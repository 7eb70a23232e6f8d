import { mysqlStore, type MysqlClient, type MysqlStore, type MysqlStoreOptions } from 'holdfast/mysql'
import mysqlCallback from 'mysql2'
import mysql, { type Pool, type PoolConnection } from 'mysql2/promise'

/** Each client that the store works over: a pool of either flavour, and one connection. */
export const clientKinds = ['promise pool', 'callback pool', 'connection'] as const
export type ClientKind = (typeof clientKinds)[number]

export interface ConnectedStore {
  readonly store: MysqlStore
  close(): Promise<void>
}

/** A store over a client of its own. */
export async function connectStore(
  kind: ClientKind,
  url: string,
  options?: MysqlStoreOptions,
): Promise<ConnectedStore> {
  const { client, close } = await connect(kind, url)
  return { store: mysqlStore(client, options), close }
}

async function connect(
  kind: ClientKind,
  url: string,
): Promise<{ client: MysqlClient; close: () => Promise<void> }> {
  switch (kind) {
    case 'promise pool': {
      const pool = mysql.createPool({ uri: url, connectionLimit: 10 })
      // Connected before time is measured.
      await pool.query('DO 0')
      return { client: pool, close: () => pool.end() }
    }
    case 'callback pool': {
      // Settings that would change what comes back, were it not for the store's own.
      const pool = mysqlCallback.createPool({
        uri: url,
        connectionLimit: 10,
        rowsAsArray: false,
        charset: 'LATIN1_SWEDISH_CI',
        timezone: '+05:30',
      })
      await pool.promise().query('DO 0')
      return { client: pool, close: () => pool.promise().end() }
    }
    case 'connection': {
      const connection = await mysql.createConnection(url)
      return { client: connection, close: () => connection.end() }
    }
  }
}

/** The same pool, whose connections give MySQL's answer to one question. */
export function sayingMysql(pool: Pool): MysqlClient {
  const saying = (connection: PoolConnection): PoolConnection =>
    new Proxy(connection, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target)
        if (name !== 'query') return typeof value === 'function' ? (value as () => void).bind(target) : value
        return async (asked: { sql: string }) =>
          asked.sql === 'SELECT VERSION()' ? [[['8.0.36']], []] : target.query(asked as never)
      },
    })
  return { query: () => undefined, getConnection: async () => saying(await pool.getConnection()) }
}

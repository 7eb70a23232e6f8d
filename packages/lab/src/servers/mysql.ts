import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startMariadb } from './mariadb.ts'
import type { MariadbOptions, MariadbServer } from './mariadb.ts'
import { MysqlFamilyServer } from './mysql-family.ts'
import { mysqlProgram } from './sql-programs.mjs'
import { startOnFreePort } from './sql-server.ts'

/** What the `mysql` store works over: a MariaDB or a MySQL of ours. */
export type MysqlServer = MariadbServer | MysqldServer

/**
 * Starts the `mysqld` or `mariadbd` that HOLDFAST_MYSQL_PROGRAM names, or else a MariaDB as `startMariadb` does, and promises the
 * same. A MySQL always has users with rights of their own, and takes some ten seconds to prepare.
 */
export async function startMysql(options: MariadbOptions = {}): Promise<MysqlServer> {
  const program = options.program ?? mysqlProgram()
  if (program === null) return startMariadb(options)
  const { stdout } = await promisify(execFile)(program, ['--no-defaults', '--version'])
  if (/mariadb/i.test(stdout)) return startMariadb({ ...options, program })
  return startOnFreePort((port) => new MysqldServer(port, program, options))
}

const SETTINGS = {
  mysqlx: 'OFF',
  'secure-file-priv': 'NULL',
  'innodb-buffer-pool-size': '32M',
  'innodb-redo-log-capacity': '32M',
  'innodb-flush-method': 'nosync',
}

/** Its own `root` may not come over TCP. */
const FIRST_STATEMENTS = [
  "CREATE USER IF NOT EXISTS root@'%'",
  "GRANT ALL ON *.* TO root@'%' WITH GRANT OPTION",
  'CREATE DATABASE IF NOT EXISTS test CHARACTER SET utf8mb4',
]

/** One MySQL server of ours. */
export class MysqldServer extends MysqlFamilyServer {
  readonly flavour = 'mysql'
  protected readonly ownSettings = SETTINGS
  protected readonly serving: readonly string[]
  protected readonly endsWithin = 10_000
  readonly #first: string

  /** Prepares a server that is not running yet. Use `startMysql`. */
  constructor(port: number, program: string, options: MariadbOptions) {
    super('mysql', port, program, options)
    this.#first = join(this.folder, 'first.sql')
    this.serving = [`--init-file=${this.#first}`]
  }

  protected async prepare(): Promise<void> {
    await promisify(execFile)(this.program, ['--no-defaults', '--initialize-insecure', ...this.common])
    writeFileSync(this.#first, FIRST_STATEMENTS.map((statement) => `${statement};\n`).join(''))
  }
}

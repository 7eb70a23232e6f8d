import { execFile } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { MysqlFamilyServer } from './mysql-family.ts'
import { mariadbProgram } from './sql-programs.mjs'
import { startOnFreePort } from './sql-server.ts'
import type { SqlServerOptions } from './sql-server.ts'

export interface MariadbOptions extends SqlServerOptions {
  /**
   * Users with rights of their own. Default no: then everybody may do everything, and the server starts in a tenth of the time,
   * since it needs no system tables. With them, `url` names `root`, who has no password.
   */
  readonly accounts?: boolean
  /** The path of the program. Default: PATH, then where systems put it. */
  readonly program?: string
}

/**
 * Starts a MariaDB of our own on a free loopback port, in a fresh temporary folder, and resolves when it serves. It
 * ends with this process at the latest, however that ends. `url` names the empty database `test`.
 *
 * What was committed survives a kill of the server, not a loss of power.
 *
 * Rejects when the program is missing, when it refuses its settings (with what it said), or when it does not serve in
 * time; nothing is left behind then.
 */
export async function startMariadb(options: MariadbOptions = {}): Promise<MariadbServer> {
  const program = options.program ?? mariadbProgram()
  if (program === null) throw new Error(MISSING)
  return startOnFreePort((port) => new MariadbServer(port, program, options))
}

const MISSING =
  'mariadbd was not found. Tests that need a MariaDB server of their own cannot run without it: ' +
  'put it on the PATH (Debian and Ubuntu: apt-get install mariadb-server).'

const SETTINGS = {
  'innodb-buffer-pool-size': '16M',
  'innodb-log-file-size': '4M',
  'innodb-data-file-path': 'ibdata1:4M:autoextend',
  'innodb-temp-data-file-path': 'ibtmp1:4M:autoextend',
  'character-set-server': 'utf8mb4',
}

/** One MariaDB server of ours. */
export class MariadbServer extends MysqlFamilyServer {
  readonly flavour = 'mariadb'
  protected readonly ownSettings = SETTINGS
  protected readonly serving: readonly string[]
  protected readonly endsWithin = 5_000
  readonly #accounts: boolean

  /** Prepares a server that is not running yet. Use `startMariadb`. */
  constructor(port: number, program: string, options: MariadbOptions) {
    super('mariadb', port, program, options)
    this.#accounts = options.accounts === true
    this.serving = this.#accounts ? [] : ['--skip-grant-tables']
  }

  protected async prepare(): Promise<void> {
    mkdirSync(join(this.data, 'test'), { recursive: true })
    if (!this.#accounts) return
    const program = join(dirname(this.program), '../bin/mariadb-install-db')
    const args = ['--no-defaults', '--auth-root-authentication-method=normal', '--skip-test-db']
    await promisify(execFile)(program, [...args, ...this.common])
  }
}

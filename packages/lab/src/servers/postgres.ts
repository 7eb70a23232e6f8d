import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { killAll, pauseAll, resumeAll } from './postgres-processes.ts'
import { startProcess } from './process.ts'
import type { OwnedProcess } from './process.ts'
import { within } from '../wait.ts'
import { postgresFolder } from './sql-programs.mjs'
import { SqlServer, startOnFreePort, unprivilegedUser } from './sql-server.ts'
import type { SqlServerOptions, SystemUser } from './sql-server.ts'

export interface PostgresOptions extends SqlServerOptions {
  /** The folder of `initdb` and `postgres`. Default: PATH, then where systems put it. */
  readonly programs?: string
}

/**
 * Starts a Postgres of our own on a free loopback port, in a fresh temporary folder, and resolves when it serves. It
 * ends with this process at the latest, however that ends. Everybody may connect as any user without a password;
 * `url` names the superuser `postgres` and the database of that name.
 *
 * What was committed survives a kill of the server, not a loss of power: it never waits for the disk.
 *
 * Rejects when the programs are missing, when it refuses its settings (with what it said), or when it does not serve
 * in time; nothing is left behind then.
 */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const programs = options.programs ?? postgresFolder()
  if (programs === null) throw new Error(MISSING)
  const user = unprivilegedUser(['postgres', 'nobody'])
  return startOnFreePort((port) => new PostgresServer(port, programs, user, options))
}

const MISSING =
  'initdb and postgres were not found. Tests that need a Postgres server of their own cannot run without them: ' +
  'put them on the PATH (Debian and Ubuntu: apt-get install postgresql).'

/** Small and quick; a test's server has no disk to be afraid of. */
const SETTINGS = {
  fsync: 'off',
  full_page_writes: 'off',
  wal_level: 'minimal',
  max_wal_senders: 0,
  shared_buffers: '16MB',
  max_logical_replication_workers: 0,
  autovacuum: 'off',
  jit: 'off',
  unix_socket_directories: '',
}

/** In milliseconds. Those who stay longer are cut off. */
const CLIENTS_LEAVE_WITHIN = 1_000

/** One Postgres server of ours. */
export class PostgresServer extends SqlServer {
  readonly url: string
  protected readonly readyMark = 'database system is ready to accept connections'
  readonly #programs: string
  readonly #user: SystemUser | null
  readonly #settings: Readonly<Record<string, string | number>>

  /** Prepares a server that is not running yet. Use `startPostgres`. */
  constructor(port: number, programs: string, user: SystemUser | null, options: PostgresOptions) {
    super('postgres', port, user, options.startWithin)
    this.url = `postgres://postgres@${this.host}:${port}/postgres`
    this.#programs = programs
    this.#user = user
    this.#settings = { ...SETTINGS, ...options.settings }
  }

  override async pause(): Promise<void> {
    if (this.process?.running === true) await pauseAll(this.process)
  }

  override resume(): void {
    if (this.process?.running === true) resumeAll(this.process)
  }

  override async kill(): Promise<void> {
    if (this.process?.running === true) await killAll(this.process)
  }

  /** Clients that are about to leave may do so: a pool says that it has ended before its connections have. */
  override async stop(): Promise<void> {
    if (this.process?.running === true) {
      this.process.signal('SIGTERM')
      this.resume()
      await within(this.process.exited, CLIENTS_LEAVE_WITHIN, () => new Error('some stay')).catch(() => {})
    }
    await super.stop()
  }

  protected async prepare(): Promise<void> {
    const args = ['--pgdata', this.#dir, '--username=postgres', '--auth=trust', '--encoding=UTF8']
    const quick = ['--locale=C', '--no-sync', '--no-instructions', '--wal-segsize=1']
    await promisify(execFile)(join(this.#programs, 'initdb'), [...args, ...quick], this.#asUser)
  }

  protected launch(): Promise<OwnedProcess> {
    const settings = Object.entries(this.#settings).map(([name, value]) => `--${name}=${value}`)
    const args = ['-D', this.#dir, '-h', this.host, '-p', String(this.port), ...settings]
    return startProcess(join(this.#programs, 'postgres'), args, this.#asUser)
  }

  /** By SIGINT: SIGTERM would wait until the last client is gone. Unlike a kill it gives its shared memory back. */
  protected async bringDown(): Promise<void> {
    this.resume()
    await this.process?.end({ by: 'SIGINT', within: 5_000 })
  }

  get #dir(): string {
    return join(this.folder, 'data')
  }

  get #asUser(): { readonly cwd: string; readonly uid?: number; readonly gid?: number } {
    return { cwd: this.folder, ...this.#user }
  }
}

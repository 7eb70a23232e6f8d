import { join } from 'node:path'
import { startProcess } from './process.ts'
import type { OwnedProcess } from './process.ts'
import { SqlServer } from './sql-server.ts'
import type { SqlServerOptions } from './sql-server.ts'

/** Small and quick; a test's server has no disk to be afraid of. */
const SETTINGS = {
  'skip-log-bin': '',
  'skip-name-resolve': '',
  'performance-schema': 'OFF',
  'innodb-flush-log-at-trx-commit': 2,
  'innodb-doublewrite': 'OFF',
  'innodb-stats-persistent': 'OFF',
  'innodb-use-native-aio': 'OFF',
}

/** What a MariaDB and a MySQL of ours have in common. */
export abstract class MysqlFamilyServer extends SqlServer {
  abstract readonly flavour: 'mariadb' | 'mysql'
  readonly url: string
  protected readonly readyMark = 'ready for connections'
  protected readonly program: string
  readonly #settings: SqlServerOptions['settings']

  protected constructor(label: string, port: number, program: string, options: SqlServerOptions) {
    super(label, port, null, options.startWithin)
    this.url = `mysql://root@${this.host}:${port}/test`
    this.program = program
    this.#settings = options.settings
  }

  /** Its settings, beside those that both have. */
  protected abstract readonly ownSettings: Readonly<Record<string, string | number>>
  /** What it takes besides when it is to serve. */
  protected abstract readonly serving: readonly string[]
  /** Milliseconds that it may take to end. */
  protected abstract readonly endsWithin: number

  protected launch(): Promise<OwnedProcess> {
    const place = [`--bind-address=${this.host}`, `--port=${this.port}`]
    // A path of a socket may have some hundred characters only; this one is found from the data folder.
    const files = ['--socket=server.sock', `--pid-file=${join(this.folder, 'server.pid')}`]
    const args = ['--no-defaults', ...place, ...files, ...this.serving, ...this.common]
    return startProcess(this.program, args, { cwd: this.folder })
  }

  protected async bringDown(): Promise<void> {
    await this.process?.end({ within: this.endsWithin })
  }

  protected get data(): string {
    return join(this.folder, 'data')
  }

  /** What the programs take for preparing and for serving; a setting without a value is a name alone. */
  protected get common(): string[] {
    const all = Object.entries({ ...SETTINGS, ...this.ownSettings, ...this.#settings })
    const settings = all.map(([name, value]) => (value === '' ? `--${name}` : `--${name}=${value}`))
    // It lets root run it only when told so.
    const user = process.getuid?.() === 0 ? ['--user=root'] : []
    return [`--datadir=${this.data}`, ...user, ...settings]
  }
}

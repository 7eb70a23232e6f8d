import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** Values are the raw text of a redis.conf line; an array repeats the directive. */
export type RedisConfig = Readonly<Record<string, string | number | readonly string[]>>

export interface ConfigFile {
  readonly port: number
  readonly dir: string
  readonly logfile: string
  readonly appendonly: boolean
  /** As in redis.conf, for example `1 1`; empty: no snapshots. */
  readonly save: string
  /** Password of the kit's own user. */
  readonly secret: string
  readonly majorVersion: number
  readonly extra: RedisConfig
}

/** The user the kit speaks as, so that a test may shut out the default one. */
export const KIT_USER = 'holdfast-kit'

/** The text of redis.conf. What is in `extra` comes last and wins. */
export function configText(file: ConfigFile): string {
  const lines = [
    'bind 127.0.0.1',
    `port ${file.port}`,
    `dir ${quoted(file.dir)}`,
    `logfile ${quoted(file.logfile)}`,
    'daemonize no',
    `save ${file.save === '' ? '""' : file.save}`,
    `appendonly ${file.appendonly ? 'yes' : 'no'}`,
    `user ${KIT_USER} on >${file.secret} ~* &* +@all`,
  ]
  // Both are refused as unknown before 7; there DEBUG and CONFIG SET dir are always allowed.
  if (file.majorVersion >= 7) lines.push('enable-debug-command yes', 'enable-protected-configs yes')
  for (const [name, value] of Object.entries(file.extra)) {
    const texts = typeof value === 'object' ? value : [value]
    lines.push(...texts.map((text) => `${name} ${text}`))
  }
  return lines.join('\n') + '\n'
}

/** A `redis-server` or `valkey-server`: the one that HOLDFAST_REDIS_PROGRAM names, or else the first on the PATH. */
export function defaultBinary(): string {
  const named = process.env.HOLDFAST_REDIS_PROGRAM ?? ''
  return named === '' ? 'redis-server' : named
}

/** What a program is. */
export interface RedisProgram {
  readonly name: 'Redis' | 'Valkey'
  /** As `7.0.15`. */
  readonly version: string
}

/** Whether the default program has `WAITAOF`, and counts for `WAIT` only what wrote: Redis from 7.2 on, Valkey always. */
export async function hasWaitaof(): Promise<boolean> {
  const { name, version } = await programOf(defaultBinary())
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return name === 'Valkey' || major > 7 || (major === 7 && minor >= 2)
}

/** The major version of a `redis-server` (or `valkey-server`). Rejects clearly when the program is not there. */
export async function majorVersion(binary: string): Promise<number> {
  return Number((await programOf(binary)).version.split('.')[0])
}

/** Rejects clearly when the program is not there. */
export async function programOf(binary: string): Promise<RedisProgram> {
  let stdout: string
  try {
    ;({ stdout } = await promisify(execFile)(binary, ['--version']))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    throw new Error(
      `${binary} was not found. Tests that need a Redis server of their own cannot run without it: ` +
        'put redis-server on the PATH (Debian and Ubuntu: apt-get install redis-server).',
      { cause: error },
    )
  }
  const version = /\bv=(\d+(?:\.\d+)*)/.exec(stdout)?.[1]
  if (version === undefined) throw new Error(`${binary} --version says no version: ${stdout.trim()}`)
  return { name: /valkey/i.test(stdout) ? 'Valkey' : 'Redis', version }
}

function quoted(text: string): string {
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
}

import { chmodSync, chownSync, readFileSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname } from 'node:path'
import { waitFor } from '../wait.ts'
import { freePort } from './free-port.ts'
import { ownFolder, removeFolder } from './lifetime.ts'
import type { OwnedProcess } from './process.ts'

export interface SqlServerOptions {
  /** Settings of the server by name. They win over the kit's own. */
  readonly settings?: Readonly<Record<string, string | number>>
  /** The longest time until it serves, in milliseconds. Default 40 000. */
  readonly startWithin?: number
}

/** Starts a prepared server; tries another port when somebody took the chosen one. Leaves nothing behind when it fails. */
export async function startOnFreePort<Server extends SqlServer>(
  create: (port: number) => Server,
): Promise<Server> {
  for (let tries = 1; ; tries++) {
    const server = create(await freePort())
    try {
      await server.start()
      return server
    } catch (error) {
      const portWasTaken = /address already in use/i.test(server.log())
      await server.stop()
      if (!portWasTaken || tries === PORT_TRIES) throw error
    }
  }
}

const PORT_TRIES = 10

/** What the database servers of ours have in common: a folder, a port, a process that can be stopped and killed. */
export abstract class SqlServer {
  readonly host = '127.0.0.1'
  /** Stays the same over restarts. */
  readonly port: number
  protected readonly folder: string
  protected process: OwnedProcess | undefined
  readonly #label: string
  readonly #startWithin: number
  #prepared = false
  #stopped = false

  protected constructor(label: string, port: number, user: SystemUser | null, startWithin = 40_000) {
    this.#label = label
    this.port = port
    this.#startWithin = startWithin
    this.folder = folderFor(label, user)
  }

  /** Where clients connect, as the user who may do everything. */
  abstract readonly url: string
  /** Creates the empty data folder. */
  protected abstract prepare(): Promise<void>
  protected abstract launch(): Promise<OwnedProcess>
  /** What the server writes once it serves. */
  protected abstract readonly readyMark: string
  /** Ends a running server gracefully, open connections or not. */
  protected abstract bringDown(): Promise<void>

  /** Of the process that runs now or ran last. */
  get pid(): number {
    if (this.process === undefined) throw new Error('this server was never started')
    return this.process.pid
  }

  get running(): boolean {
    return this.process?.running ?? false
  }

  /** Starts the process and waits until it serves. */
  async start(): Promise<void> {
    if (this.#stopped) throw new Error('this server was stopped for good')
    if (!this.#prepared) await this.prepare()
    this.#prepared = true
    const process = await this.launch()
    this.process = process
    await waitFor(() => !process.running || this.log().includes(this.readyMark), {
      what: `${this.#label} on port ${this.port}`,
      within: this.#startWithin,
    }).catch((error: Error) => {
      throw new Error(`${error.message}; its log: ${this.log()}`, { cause: error })
    })
    if (process.running) return
    const how = await process.exited
    throw new Error(
      `${this.#label} ended at its start (${how.signal ?? `status ${how.code}`}): ${this.log()}`.trim(),
    )
  }

  /** SIGSTOP to all its processes: connections stay open, nothing is answered. Resolves when all stand still. */
  async pause(): Promise<void> {
    await this.process?.pause()
  }

  /** SIGCONT. */
  resume(): void {
    this.process?.resume()
  }

  /** SIGKILL to all its processes. The folder stays, for `restart`. */
  async kill(): Promise<void> {
    await this.process?.kill()
  }

  /** Brings it down if it runs, and up again on the same port with its data. */
  async restart({ how = 'stop' }: { readonly how?: 'stop' | 'kill' } = {}): Promise<void> {
    if (this.running) await (how === 'kill' ? this.kill() : this.bringDown())
    await this.start()
  }

  /** Ends it for good and removes its folder. May be called in any state and again. */
  async stop(): Promise<void> {
    if (this.#stopped) return
    this.#stopped = true
    if (this.running) await this.bringDown()
    removeFolder(this.folder)
  }

  /** What the server wrote since its last start, for messages and for tests that look there. */
  log(): string {
    return `${this.process?.stdout ?? ''}${this.process?.stderr ?? ''}`
  }
}

export interface SystemUser {
  readonly uid: number
  readonly gid: number
}

/** Who runs a server that refuses to be run by root; null when we are not root. */
export function unprivilegedUser(names: readonly string[]): SystemUser | null {
  if (process.getuid?.() !== 0) return null
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n')
  for (const name of names) {
    const [, , uid, gid] = lines.find((line) => line.startsWith(`${name}:`))?.split(':') ?? []
    if (uid !== undefined && gid !== undefined) return { uid: Number(uid), gid: Number(gid) }
  }
  throw new Error(
    `root may not run this server, and there is no user ${names.join(' or ')} to run it instead`,
  )
}

/** A folder that is the user's own. Someone else than us must be let through all folders above it. */
function folderFor(label: string, user: SystemUser | null): string {
  if (user === null) return ownFolder(label)
  const folder = ownFolder(label, [tmpdir(), '/tmp', '/var/tmp'].find(letsThrough))
  chmodSync(folder, 0o700)
  chownSync(folder, user.uid, user.gid)
  return folder
}

function letsThrough(folder: string): boolean {
  const open = (statSync(folder).mode & 0o001) !== 0
  return open && (folder === '/' || letsThrough(dirname(folder)))
}

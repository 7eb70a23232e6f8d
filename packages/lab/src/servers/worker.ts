import { existsSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { waitFor, within as withinTime } from '../wait.ts'
import { startProcess } from './process.ts'
import type { Exit, OwnedProcess } from './process.ts'
import type { Json, WorkerAnswer, WorkerCall } from './worker-side.ts'

export interface WorkerOptions {
  /** What the worker finds in `process.argv` behind its own file. */
  readonly args?: readonly string[]
  /** On top of this process's own environment. */
  readonly env?: Readonly<Record<string, string>>
  /**
   * Wait until it calls `serveWorker`. Default yes. `false` for a plain script that never does; it gets no calls and
   * is not kept alive by the channel to us.
   */
  readonly ready?: boolean
  /** The longest time until it is ready, in milliseconds. Default 15 000. */
  readonly within?: number
}

export interface WorkerEvent {
  readonly event: string
  readonly data: Json
}

/**
 * Starts a TypeScript file of this repository as a process of its own, to be stopped and killed like a real holder
 * of locks. It ends with this process at the latest.
 *
 * Rejects when the worker ends before it is ready, with what it wrote to stderr.
 */
export async function spawnWorker(file: string | URL, options: WorkerOptions = {}): Promise<Worker> {
  const { args = [], env = {}, ready = true, within = 15_000 } = options
  const path = typeof file === 'string' && !file.startsWith('file:') ? file : fileURLToPath(file)
  if (!existsSync(path)) throw new Error(`there is no worker file ${path}`)
  const process_ = await startProcess(process.execPath, ['--import', LOADER.href, path, ...args], {
    env: { ...process.env, NODE_OPTIONS: '', ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  const worker = new Worker(basename(path), process_)
  try {
    if (ready) await worker.next('ready', { within })
  } catch (error) {
    await worker.kill()
    throw error
  }
  return worker
}

/** Strips types and knows the library's own names; see build/register.mjs. */
const LOADER = new URL('../../../../build/register.mjs', import.meta.url)

/** A worker process: calls with replies, events, signals. */
export class Worker {
  /** For messages. */
  readonly name: string
  readonly pid: number
  /** Resolves when it has ended. Never rejects. */
  readonly exited: Promise<Exit>
  /** All events it told so far, `ready` included. */
  readonly events: WorkerEvent[] = []
  readonly #process: OwnedProcess
  readonly #calls = new Map<number, PendingCall>()
  readonly #handedOut = new Set<WorkerEvent>()
  #lastId = 0

  /** Takes a process with an IPC channel. Use `spawnWorker`. */
  constructor(name: string, process: OwnedProcess) {
    this.name = name
    this.pid = process.pid
    this.exited = process.exited
    this.#process = process
    process.child.on('message', (message) => this.#take(message as WorkerEvent | WorkerAnswer))
    void process.exited.then((exit) => this.#failCalls(exit))
  }

  get running(): boolean {
    return this.#process.running
  }

  get stdout(): string {
    return this.#process.stdout
  }

  get stderr(): string {
    return this.#process.stderr
  }

  /**
   * Calls a handler of `serveWorker` and resolves with what it gave, as JSON. Rejects with the handler's error (name,
   * message and code), and when the worker ends before it answers. A stopped worker answers once it goes on.
   */
  async call<T = unknown>(handler: string, ...args: Json[]): Promise<T> {
    if (!this.#process.running) throw new Error(`worker ${this.name} has ended`)
    const id = ++this.#lastId
    const message: WorkerCall = { id, call: handler, args }
    return new Promise<T>((resolve, reject) => {
      this.#calls.set(id, { resolve: (value) => resolve(value as T), reject })
      this.#process.child.send(message, (error) => {
        if (error !== null && this.#calls.delete(id)) reject(error)
      })
    })
  }

  /** The data of the next event of that name that was not handed out yet, also if it has come already. */
  async next<T = unknown>(event: string, options: { readonly within?: number } = {}): Promise<T> {
    const found = () => this.events.find((each) => each.event === event && !this.#handedOut.has(each))
    const what = `event ${event} of worker ${this.name}`
    await waitFor(() => found() !== undefined || !this.#process.running, { what, ...options })
    let next = found()
    if (next === undefined) {
      // What it told last may still be in the channel when the exit is known.
      const exit = await this.exited
      next = found()
      if (next === undefined) throw new Error(`no ${what}: it ended (${endOf(exit)}): ${this.stderr}`)
    }
    this.#handedOut.add(next)
    return next.data as T
  }

  /** SIGSTOP. Resolves when it stands still. */
  stop(): Promise<void> {
    return this.#process.pause()
  }

  /** SIGCONT. */
  continue(): void {
    this.#process.resume()
  }

  /** SIGKILL. Resolves when it is gone. */
  kill(): Promise<Exit> {
    return this.#process.kill()
  }

  /** Sends any signal. */
  signal(signal: NodeJS.Signals): void {
    this.#process.signal(signal)
  }

  /** SIGTERM, and SIGKILL when it does not end in time (default 2 000 ms). May be called again. */
  end(options: { readonly within?: number } = {}): Promise<Exit> {
    return this.#process.end(options)
  }

  /** Resolves with its end, or rejects when it does not come in time. */
  async exitedWithin(ms: number): Promise<Exit> {
    return withinTime(this.exited, ms, () => new Error(`worker ${this.name} still runs after ${ms} ms`))
  }

  #take(message: WorkerEvent | WorkerAnswer): void {
    if ('event' in message) {
      this.events.push(message)
      return
    }
    const call = this.#calls.get(message.id)
    this.#calls.delete(message.id)
    if (message.error === undefined) call?.resolve(message.value)
    else call?.reject(Object.assign(new Error(message.error.message), message.error))
  }

  #failCalls(exit: Exit): void {
    for (const { reject } of this.#calls.values()) {
      reject(new Error(`worker ${this.name} ended (${endOf(exit)}) before it answered: ${this.stderr}`))
    }
    this.#calls.clear()
  }
}

interface PendingCall {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: Error) => void
}

function endOf(exit: Exit): string {
  return exit.signal ?? `status ${exit.code}`
}

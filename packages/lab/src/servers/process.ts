import { spawn } from 'node:child_process'
import type { ChildProcess, StdioOptions } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { waitFor, within as withinTime } from '../wait.ts'
import { ownProcess } from './lifetime.ts'

export interface ProcessOptions {
  readonly cwd?: string
  readonly env?: NodeJS.ProcessEnv
  /** Default: no input; output and errors are kept for `stdout` and `stderr`. */
  readonly stdio?: StdioOptions
  /** Whom it runs as, when that is not us. */
  readonly uid?: number
  readonly gid?: number
}

/** How a process ended: one of the two is null. */
export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** How long a process may take to obey a signal that cannot be refused, in milliseconds. */
const OBEYS_WITHIN = 20_000

/** Starts a program that cannot outlive this process. Rejects when it is not there or must not be run. */
export async function startProcess(
  program: string,
  args: readonly string[],
  options: ProcessOptions = {},
): Promise<OwnedProcess> {
  const { stdio = ['ignore', 'pipe', 'pipe'], ...rest } = options
  const child = spawn(program, args, { ...rest, stdio, detached: true })
  ownProcess(child)
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', reject)
  })
  return new OwnedProcess(child)
}

/** A running program that can be stopped, continued and killed. Ends when this process does. */
export class OwnedProcess {
  readonly child: ChildProcess
  readonly pid: number
  /** Resolves when it has ended, with what its end was. Never rejects. */
  readonly exited: Promise<Exit>
  #exit: Exit | undefined
  #stdout = ''
  #stderr = ''

  /** Takes a child that was spawned. Use `startProcess`. */
  constructor(child: ChildProcess) {
    this.child = child
    this.pid = child.pid as number
    // After an exit the pipes may still hold output: `close` comes when all of it was read.
    this.exited = new Promise((resolve) => {
      child.once('close', (code: number | null, signal: NodeJS.Signals | null) => resolve({ code, signal }))
    })
    child.once('exit', (code, signal) => (this.#exit = { code, signal }))
    child.on('error', () => {})
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.#stdout = tail(this.#stdout + text)))
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.#stderr = tail(this.#stderr + text)))
  }

  get running(): boolean {
    return this.#exit === undefined
  }

  /** What it wrote so far, at most the last 256 K characters of it. */
  get stdout(): string {
    return this.#stdout
  }

  /** What it complained of so far, at most the last 256 K characters of it. */
  get stderr(): string {
    return this.#stderr
  }

  /** SIGSTOP. Resolves when it really stands still. */
  async pause(): Promise<void> {
    this.signal('SIGSTOP')
    await waitFor(() => !this.running || stateOf(this.pid) !== 'running', {
      what: `process ${this.pid} to stand still`,
      within: OBEYS_WITHIN,
      every: 1,
    })
  }

  /** SIGCONT. Does nothing when it was not stopped. */
  resume(): void {
    this.signal('SIGCONT')
  }

  /** SIGKILL to it and its children. Resolves when it is gone; also when it already was. */
  async kill(): Promise<Exit> {
    if (this.running) this.signal('SIGKILL', -this.pid)
    return withinTime(
      this.exited,
      OBEYS_WITHIN,
      () => new Error(`process ${this.pid} does not go, even by SIGKILL`),
    )
  }

  /** SIGTERM or `by` (then SIGCONT, since a stopped process would not hear it), and SIGKILL when that takes too long. */
  async end({
    within = 2_000,
    by = 'SIGTERM',
  }: { readonly within?: number; readonly by?: NodeJS.Signals } = {}): Promise<Exit> {
    if (!this.running) return this.exited
    this.signal(by)
    this.signal('SIGCONT')
    try {
      return await withinTime(this.exited, within, () => new Error('overdue'))
    } catch {
      return this.kill()
    }
  }

  /** Sends a signal; nothing happens when the process is gone. */
  signal(signal: NodeJS.Signals, pid = this.pid): void {
    if (!this.running) return
    try {
      process.kill(pid, signal)
    } catch {
      // It went in this very moment.
    }
  }
}

const TAIL_LENGTH = 256 * 1024

function tail(text: string): string {
  return text.length > TAIL_LENGTH ? text.slice(-TAIL_LENGTH) : text
}

/** Whether the kernel has stopped a process. Where there is no /proc it is believed. */
function stateOf(pid: number): 'running' | 'stopped' | 'unknown' {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The second field is the program's name in brackets and may hold anything.
    const state = stat.slice(stat.lastIndexOf(')') + 2, stat.lastIndexOf(')') + 3)
    return state === 'T' || state === 't' || state === 'Z' ? 'stopped' : 'running'
  } catch {
    return 'unknown'
  }
}

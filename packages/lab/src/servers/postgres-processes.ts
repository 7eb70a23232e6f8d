import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { waitFor } from '../wait.ts'
import { disownPid, ownPid } from './lifetime.ts'
import type { OwnedProcess } from './process.ts'

/**
 * A Postgres server is many processes: each connection has one, which leads a process group of its own. Signals to the
 * first one's group do not reach them.
 */

/** SIGSTOP to all of them, the first one first so that it starts no more. */
export async function pauseAll(postmaster: OwnedProcess): Promise<void> {
  await postmaster.pause()
  const children = childrenOf(postmaster.pid)
  for (const pid of children) {
    // Whoever ends us now ends them too: standing still, they would not notice that the first one is gone.
    ownPid(pid)
    send(pid, 'SIGSTOP')
  }
  await waitFor(() => children.every((pid) => stateOf(pid) !== 'running'), {
    what: 'the processes of Postgres to stand still',
    every: 1,
  })
}

/** SIGCONT to all of them. */
export function resumeAll(postmaster: OwnedProcess): void {
  for (const pid of childrenOf(postmaster.pid)) {
    send(pid, 'SIGCONT')
    disownPid(pid)
  }
  postmaster.resume()
}

/** SIGKILL to all of them. Resolves when none is left, so that the server can start again in the same folder. */
export async function killAll(postmaster: OwnedProcess): Promise<void> {
  postmaster.signal('SIGSTOP')
  const children = childrenOf(postmaster.pid)
  for (const pid of children) send(pid, 'SIGKILL')
  await postmaster.kill()
  await waitFor(() => children.every((pid) => stateOf(pid) === 'gone'), {
    what: 'the processes of Postgres to be gone',
    every: 1,
  })
  for (const pid of children) disownPid(pid)
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It went in this very moment.
  }
}

function childrenOf(parent: number): number[] {
  return processes()
    .filter((each) => each.parent === parent)
    .map((each) => each.pid)
}

interface Listed {
  readonly pid: number
  readonly parent: number
}

function processes(): Listed[] {
  if (existsSync('/proc/self/stat')) {
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
    return pids.map((pid) => ({ pid: Number(pid), parent: Number(fieldsOf(Number(pid))?.[1] ?? -1) }))
  }
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n')
  return lines.map((line) => {
    const [pid, parent] = line.trim().split(/\s+/)
    return { pid: Number(pid), parent: Number(parent) }
  })
}

function stateOf(pid: number): 'running' | 'stopped' | 'gone' {
  if (!existsSync('/proc/self/stat')) {
    try {
      process.kill(pid, 0)
      return 'stopped'
    } catch {
      return 'gone'
    }
  }
  const state = fieldsOf(pid)?.[0]
  if (state === undefined || state === 'Z' || state === 'X') return 'gone'
  return state === 'T' || state === 't' ? 'stopped' : 'running'
}

/** State, parent, … as /proc tells them; undefined when it is gone. */
function fieldsOf(pid: number): string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The second field is the program's name in brackets and may hold anything.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return undefined
  }
}

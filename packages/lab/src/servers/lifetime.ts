/**
 * Everything that this process started, and its end. Whatever way the process goes (normally, by an exception, by
 * Ctrl-C, by kill -9), the servers, workers and temporary folders it owns go with it.
 *
 * On exit they are ended here, before the process is gone. Signals need no listener of ours, which would change
 * the exit status and mix with the listeners of the code under test: a small child process, the reaper, holds a
 * pipe from us and does the same as soon as the pipe closes.
 */

import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const pids = new Set<number>()
const folders = new Set<string>()
let reaper: ChildProcess | undefined
let exitIsWatched = false

/**
 * Owns a child process until it exits. The child must lead a process group of its own (spawned with
 * `detached: true`): the whole group is ended with us.
 */
export function ownProcess(child: ChildProcess): void {
  const pid = child.pid
  if (pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  pids.add(pid)
  tellReaper(`+pid ${pid}`)
  child.once('exit', () => {
    pids.delete(pid)
    tellReaper(`-pid ${pid}`)
  })
}

/** Owns a process that is no child of ours and leads a process group: it goes when we go. */
export function ownPid(pid: number): void {
  pids.add(pid)
  tellReaper(`+pid ${pid}`)
}

/** The end of `ownPid`. */
export function disownPid(pid: number): void {
  if (pids.delete(pid)) tellReaper(`-pid ${pid}`)
}

/** Creates a fresh folder in `parent` (default: for temporary files) and owns it. `label` is a part of its name. */
export function ownFolder(label: string, parent = tmpdir()): string {
  // Started first, so that there is no moment in which a folder stands and nobody would remove it.
  startReaper()
  const folder = mkdtempSync(join(parent, `holdfast-${label}-`))
  folders.add(folder)
  tellReaper(`+folder ${folder}`)
  return folder
}

/** Removes a folder that `ownFolder` created. */
export function removeFolder(folder: string): void {
  removeTree(folder)
  folders.delete(folder)
  tellReaper(`-folder ${folder}`)
}

/**
 * Removes a folder, also one in which a process that has just been ended, or a server's snapshot, still makes files: Node
 * removes what is inside once, and then only tries the folder again.
 */
export function removeTree(folder: string): void {
  for (let tries = 1; ; tries += 1) {
    try {
      return rmSync(folder, { recursive: true, force: true, maxRetries: 1, retryDelay: 10 })
    } catch (error) {
      if (tries === REMOVALS || (error as NodeJS.ErrnoException).code !== 'ENOTEMPTY') throw error
    }
  }
}

const REMOVALS = 100

/** What is owned now; for tests that look for leaks. */
export function owned(): { pids: number[]; folders: string[] } {
  return { pids: [...pids], folders: [...folders] }
}

/** Ends everything at once, with SIGKILL. Also done at exit. */
function endEverything(): void {
  for (const pid of pids) killGroup(pid)
  for (const folder of folders) {
    try {
      removeFolder(folder)
    } catch {
      // A killed server may still have been writing; the reaper comes after us and tries again.
    }
  }
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It is gone already.
  }
}

function tellReaper(line: string): void {
  startReaper().stdin?.write(`${line}\n`)
}

function startReaper(): ChildProcess {
  if (!exitIsWatched) {
    exitIsWatched = true
    process.on('exit', endEverything)
  }
  if (reaper !== undefined) return reaper
  const script = fileURLToPath(new URL('./reaper.mjs', import.meta.url))
  const started = spawn(process.execPath, [script], {
    // A session of its own: Ctrl-C in a terminal goes to the whole foreground group.
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    env: {},
    cwd: '/',
  })
  reaper = started
  // Should it die (somebody killed it), the next registration starts another that is told everything.
  started.on('error', () => forgetReaper(started))
  started.on('exit', () => forgetReaper(started))
  started.stdin.on('error', () => forgetReaper(started))
  started.unref()
  const pipe = started.stdin as typeof started.stdin & { unref?: () => void }
  pipe.unref?.()
  for (const pid of pids) started.stdin.write(`+pid ${pid}\n`)
  for (const folder of folders) started.stdin.write(`+folder ${folder}\n`)
  return started
}

function forgetReaper(gone: ChildProcess): void {
  if (reaper === gone) reaper = undefined
}

import { spawn } from 'node:child_process'
import { accessSync, constants, statSync } from 'node:fs'
import { constants as osConstants, setPriority } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Commands that end when we end. Node built-ins only: this runs before anything is installed. */

/** Folder of the repository. */
export const root = fileURLToPath(new URL('../..', import.meta.url))

/** How long a command may tidy up after Ctrl-C before it is killed. */
const GRACE_MS = 10_000

/** Process groups of the commands that run now. @type {Set<number>} */
const groups = new Set()

let interrupted = false

/** Waits for the end of our pipe to it, which comes even when we are killed outright, and then kills a process group. */
const REAPER =
  "process.stdin.resume().on('end', () => { try { process.kill(-process.argv[1], 'SIGKILL') } catch {} })"

/**
 * @typedef {object} Ended
 * @property {number} code exit code; 128 + signal number when a signal ended it; 127 when it could not start
 * @property {string} output what it wrote, when `output` was `'keep'`
 */

/**
 * Runs a command to its end. It gets a process group of its own, of which nothing is left afterwards, however it
 * ended: a crashed test run leaves no server behind.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ output: 'keep' | 'show', env?: NodeJS.ProcessEnv, cwd?: string, yields?: boolean }} options `show` passes on
 * what it writes; one that `yields` works only while nobody else wants the processor
 * @returns {Promise<Ended>}
 */
export function run(command, args, { output, env = process.env, cwd = root, yields = false }) {
  const streams = /** @type {const} */ ({
    keep: ['pipe', 'pipe'],
    show: ['inherit', 'inherit'],
  })
  return new Promise((resolve) => {
    if (interrupted) return
    const child = spawn(command, args, { cwd, env, stdio: ['ignore', ...streams[output]], detached: true })
    const { pid } = child
    if (pid !== undefined) groups.add(pid)
    if (pid !== undefined && yields) yieldAlways(pid)
    const reaper = startReaper(pid)
    let kept = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (/** @type {string} */ text) => (kept += text))
    }
    child.on('error', (error) => resolve({ code: 127, output: `${command}: ${error.message}` }))
    // Not 'close': a stray grandchild may keep the streams open, and it is about to be killed.
    child.on('exit', (code, signal) => {
      if (pid !== undefined) {
        killGroup(pid, 'SIGKILL')
        groups.delete(pid)
      }
      reaper?.kill('SIGKILL')
      const ended = code ?? 128 + (signal === null ? 0 : osConstants.signals[signal])
      const settle = () => resolve({ code: ended, output: kept })
      if (output === 'keep') child.on('close', settle)
      else settle()
    })
  })
}

/** @param {number} pid */
function yieldAlways(pid) {
  try {
    setPriority(pid, osConstants.priority.PRIORITY_LOW)
  } catch {
    // It has ended already, or this system has no priorities.
  }
}

/** @param {number | undefined} group */
function startReaper(group) {
  if (group === undefined) return undefined
  const stdio = /** @type {const} */ (['pipe', 'ignore', 'ignore'])
  const reaper = spawn(process.execPath, ['-e', REAPER, String(group)], { stdio: [...stdio], detached: true })
  reaper.on('error', () => {})
  return reaper
}

/**
 * Ctrl-C, a closed terminal or SIGTERM: tell every command, give them time to tidy up, kill what is left, then leave.
 * To be called once, by a script's first line.
 */
export function endWithChildren() {
  const codes = /** @type {const} */ ({ SIGINT: 130, SIGTERM: 143, SIGHUP: 129 })
  for (const [signal, code] of Object.entries(codes)) {
    process.on(signal, () => {
      if (interrupted) return killAll('SIGKILL')
      interrupted = true
      process.stderr.write('\nstopping what was started …\n')
      killAll(/** @type {NodeJS.Signals} */ (signal))
      const end = Date.now() + GRACE_MS
      const wait = setInterval(() => {
        if (groups.size > 0 && Date.now() < end) return
        clearInterval(wait)
        killAll('SIGKILL')
        process.exit(code)
      }, 50)
    })
  }
  process.on('exit', () => killAll('SIGKILL'))
}

/** @param {NodeJS.Signals} signal */
function killAll(signal) {
  for (const group of groups) killGroup(group, signal)
}

/** @param {number} group @param {NodeJS.Signals} signal */
function killGroup(group, signal) {
  try {
    process.kill(-group, signal)
  } catch {
    // Nothing of it is left.
  }
}

/**
 * Full path of a program, or null. Looks on PATH only.
 * @param {string} program
 */
export function onPath(program) {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    const path = join(folder, program)
    try {
      accessSync(path, constants.X_OK)
      if (folder !== '' && statSync(path).isFile()) return path
    } catch {
      // Not here.
    }
  }
  return null
}

/** Tells what goes on. Never on stdout, which belongs to results. @param {string} text */
export function say(text) {
  process.stderr.write(`${text}\n`)
}

/** Ends the script with a word to the user instead of a stack. */
export class CannotStart extends Error {}

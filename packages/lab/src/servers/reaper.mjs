/**
 * Outlives its parent by a moment: reads from stdin which processes and folders the parent owns, and when the pipe
 * closes, however the parent ended, kills those processes and removes those folders.
 *
 * Lines: `+pid 123`, `-pid 123`, `+folder /path`, `-folder /path`. Plain JavaScript, so that it starts without any
 * loader.
 */

import { readFileSync, rmSync } from 'node:fs'
import { createInterface } from 'node:readline'

/** How long killed processes may take to go, before their folders are removed all the same. */
const GONE_WITHIN_MS = 2_000

/** @type {Set<number>} */
const pids = new Set()
/** @type {Set<string>} */
const folders = new Set()

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {})

createInterface({ input: process.stdin }).on('line', note).on('close', reap)

/** @param {string} line */
function note(line) {
  const space = line.indexOf(' ')
  const what = line.slice(space + 1)
  switch (line.slice(0, space)) {
    case '+pid':
      pids.add(Number(what))
      break
    case '-pid':
      pids.delete(Number(what))
      break
    case '+folder':
      folders.add(what)
      break
    case '-folder':
      folders.delete(what)
      break
  }
}

async function reap() {
  const overdue = performance.now() + GONE_WITHIN_MS
  for (const pid of pids) signalGroup(pid, 'SIGKILL')
  while ([...pids].some(isAlive) && performance.now() < overdue) {
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

/**
 * Each owned process leads a group of its own, which holds its children too.
 * @param {number} pid
 * @param {NodeJS.Signals | 0} signal
 */
function signalGroup(pid, signal) {
  try {
    return process.kill(-pid, signal)
  } catch {
    return false
  }
}

/**
 * A dead process stays in the table until its new parent, some init, has looked at it; that may take long.
 * @param {number} pid
 */
function isAlive(pid) {
  if (!signalGroup(pid, 0)) return false
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))
  } catch {
    return false
  }
}

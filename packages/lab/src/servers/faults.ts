/**
 * The faults that a single Redis can have, each brought about for real. Every helper resolves once the server really
 * answers so, with a function that takes the fault back and resolves once the server serves again.
 */

import { mkdirSync } from 'node:fs'
import { RespError } from '../resp/replies.ts'
import { waitFor } from '../wait.ts'
import { freePort } from './free-port.ts'
import { removeTree } from './lifetime.ts'
import type { RedisServer } from './redis.ts'

export type Undo = () => Promise<void>

/** Writes that need memory are refused with OOM; reads, DEL and PEXPIRE work. */
export async function oom(server: RedisServer): Promise<Undo> {
  return setConfig(server, 'maxmemory', '1')
}

/**
 * All writes are refused with MISCONF, DEL and PEXPIRE too: snapshots are on and the last one failed, because the data
 * folder is gone. Data in memory stays.
 */
export async function misconf(server: RedisServer): Promise<Undo> {
  const restoreSave = await setConfig(server, 'save', '1 1')
  removeTree(server.dir)
  await saveInBackground(server, 'err')
  return async () => {
    mkdirSync(server.dir, { recursive: true })
    // Its working directory is the folder that was removed; only this makes it enter the new one.
    await server.command('CONFIG', 'SET', 'dir', server.dir)
    await saveInBackground(server, 'ok')
    await restoreSave()
  }
}

/**
 * The server restarts with its data and takes long to load it; commands, PING too, are refused with LOADING. It keeps
 * its keys and gets 1 000 more in database 15 for the time being, each of which takes 20 ms: longer than any test
 * waits. Undone, it loads the rest at full speed.
 */
export async function loading(server: RedisServer): Promise<Undo> {
  await inDatabase15(server, 'EVAL', FILL, 0, FILLERS)
  await rewriteAppendOnlyFile(server)
  await server.restart({ config: SLOW_LOADING, until: 'answering' })
  await untilRefused(server, 'LOADING')
  return async () => {
    await server.command('CONFIG', 'SET', 'key-load-delay', '0')
    await untilServing(server)
    await inDatabase15(server, 'FLUSHDB')
  }
}

const FILLERS = 1_000

/** Commands are answered once in so many bytes of the file, while each key takes so many microseconds. */
const SLOW_LOADING = { 'loading-process-events-interval-bytes': 1024, 'key-load-delay': 20_000 }

/** Values above 1 KB that do not compress well, so that commands are answered between any two keys. */
const FILL = `
  for i = 1, tonumber(ARGV[1]) do
    local parts = {}
    for j = 1, 64 do parts[j] = redis.sha1hex(i .. ':' .. j) end
    redis.call('SET', 'filler:' .. i, table.concat(parts))
  end`

/** A file of commands is loaded with few pauses for answers; a rewritten one is a snapshot. */
async function rewriteAppendOnlyFile(server: RedisServer): Promise<void> {
  if ((await server.info('persistence')).aof_enabled !== '1') return
  await server.command('BGREWRITEAOF')
  await waitFor(async () => (await server.info('persistence')).aof_rewrite_in_progress === '0', {
    what: 'the append-only file to be rewritten',
  })
}

/** A script runs without end; nearly all commands, GET too, are refused with BUSY. Undone by SCRIPT KILL. */
export async function busy(server: RedisServer): Promise<Undo> {
  const restoreThreshold = await setConfig(server, 'lua-time-limit', '50')
  const connection = await server.connect({ asAdmin: true })
  connection.send('EVAL', 'while true do end', '0')
  await untilRefused(server, 'BUSY')
  return async () => {
    await server.command('SCRIPT', 'KILL')
    await untilServing(server)
    connection.close()
    await restoreThreshold()
  }
}

/** Writes are refused with NOREPLICAS, DEL and PEXPIRE too. */
export async function noReplicas(server: RedisServer): Promise<Undo> {
  return setConfig(server, 'min-replicas-to-write', '1')
}

/** The server becomes the replica of a primary that is not there: writes are refused with READONLY, reads work. */
export async function readOnly(server: RedisServer): Promise<Undo> {
  await server.command('REPLICAOF', server.host, await freePort())
  return async () => {
    await server.command('REPLICAOF', 'NO', 'ONE')
  }
}

/** As `readOnly`, but reads are refused too, with MASTERDOWN. */
export async function masterDown(server: RedisServer): Promise<Undo> {
  const restoreStale = await setConfig(server, 'replica-serve-stale-data', 'no')
  const restorePrimary = await readOnly(server)
  return async () => {
    await restorePrimary()
    await restoreStale()
  }
}

/** The server forgets all scripts: EVALSHA is answered with NOSCRIPT until they are sent again. Nothing to undo. */
export async function scriptFlush(server: RedisServer): Promise<Undo> {
  await server.command('SCRIPT', 'FLUSH')
  return async () => {}
}

/** The server stands still: connections are accepted by the kernel, nothing is answered. */
export async function frozen(server: RedisServer): Promise<Undo> {
  await server.pause()
  return async () => server.resume()
}

async function setConfig(server: RedisServer, name: string, value: string): Promise<Undo> {
  const [, before] = (await server.command('CONFIG', 'GET', name)) as readonly [string, string]
  await server.command('CONFIG', 'SET', name, value)
  return async () => {
    await server.command('CONFIG', 'SET', name, before)
  }
}

async function saveInBackground(server: RedisServer, outcome: 'ok' | 'err'): Promise<void> {
  await waitFor(
    async () => {
      const { rdb_last_bgsave_status: status, rdb_bgsave_in_progress: running } =
        await server.info('persistence')
      if (status === outcome && running === '0') return true
      if (running === '0') await server.command('BGSAVE')
      return false
    },
    { what: `a snapshot whose outcome is ${outcome}` },
  )
}

async function inDatabase15(server: RedisServer, ...command: (string | number)[]): Promise<void> {
  await server.command('SELECT', 15)
  try {
    await server.command(...command)
  } finally {
    await server.command('SELECT', 0)
  }
}

async function untilRefused(server: RedisServer, code: string): Promise<void> {
  const refused = async () => {
    try {
      await server.command('PING')
      return false
    } catch (error) {
      return error instanceof RespError && error.code === code
    }
  }
  await waitFor(refused, { what: `${code} from the server` })
}

async function untilServing(server: RedisServer): Promise<void> {
  await waitFor(async () => (await server.command('PING')) === 'PONG', { what: 'the server to serve again' })
}

import type { Command } from './command.ts'
import { ServerError } from './reply.ts'

/**
 * States in which Redis refuses commands that it knows:
 *
 * - `READONLY` a replica: writes. `NOREPLICAS` and `MISCONF`: writes, too.
 * - `OOM` full: writes that need memory; not DEL, not PEXPIRE.
 * - `LOADING` and `BUSY`: nearly all commands, at the door; scripts do not begin.
 *
 * A script is let go on once it has written something, as in Redis, unless the server is a replica.
 */
export type Refusal = keyof typeof TEXTS

const TEXTS = {
  READONLY: "READONLY You can't write against a read only replica.",
  NOREPLICAS: 'NOREPLICAS Not enough good replicas to write.',
  MISCONF:
    "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk. Commands that may modify the data set are disabled, because this instance is configured to report errors during writes if RDB snapshotting fails (stop-writes-on-bgsave-error option). Please check the Redis logs for details about the RDB error.",
  OOM: "OOM command not allowed when used memory > 'maxmemory'.",
  LOADING: 'LOADING Redis is loading the dataset in memory',
  BUSY: 'BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.',
} as const

/** What a server in that state answers to a client's command, if it refuses it. EVAL and the like are no command of the table. */
export function refusedAtTheDoor(
  refusal: Refusal | null,
  name: string,
  command: Command | undefined,
): ServerError | null {
  switch (refusal) {
    case null:
      return null
    case 'LOADING':
      return command?.whileLoading === true ? null : error(refusal)
    case 'BUSY':
      return error(refusal)
    case 'MISCONF':
      return name === 'PING' || command?.writes === true ? error(refusal) : null
    case 'NOREPLICAS':
    case 'READONLY':
    case 'OOM':
      return command !== undefined && refuses(refusal, command) ? error(refusal) : null
  }
}

/** What it answers to a command of a script. */
export function refusedInScript(
  refusal: Refusal | null,
  command: Command,
  hasWritten: boolean,
): ServerError | null {
  if (refusal === null || !refuses(refusal, command) || hasWritten) return null
  return error(refusal)
}

const refuses = (refusal: Refusal, { writes = false, needsMemory = false }: Command): boolean =>
  refusal === 'OOM' ? needsMemory : writes

const error = (refusal: Refusal): ServerError => new ServerError(TEXTS[refusal])

import { InvalidArgumentError } from '../../errors.ts'
import { StoreFailure } from '../../store/failure.ts'
import { SentTwiceError } from './port.ts'

interface Refusal {
  /** Whether asking again within the budget is of no use. */
  readonly final: boolean
  readonly remedy: string
  /** Whether it says nothing about what was in flight. */
  readonly unsure?: true
}

const LOGIN = 'The client did not log in. Give it a user name and a password.'

const IN_CLUSTER =
  'The server is a node of a cluster. Give redisStore a cluster client (Cluster of ioredis, createCluster of node-redis).'

/** What Redis and Valkey answer when they refuse, and what to do about it. All of them did nothing. */
const REFUSALS: Record<string, Refusal> = {
  READONLY: {
    final: false,
    remedy: 'The server is a replica. Point the client at the primary, or use its Sentinel support.',
  },
  LOADING: {
    final: false,
    remedy: 'The server is reading its data from disk; it answers when that is done.',
  },
  MASTERDOWN: {
    final: false,
    remedy: 'The server is a replica without its primary. Point the client at the primary.',
  },
  CLUSTERDOWN: { final: false, remedy: 'The cluster misses slots; look at CLUSTER INFO.' },
  TRYAGAIN: { final: false, remedy: 'The slot is being moved; it answers when that is done.' },
  BUSY: { final: false, remedy: 'Another script runs without end. SCRIPT KILL ends it.' },
  MISCONF: {
    final: false,
    remedy:
      'The server cannot save to disk and so refuses writes. Look at its log; free the disk or mend its rights.',
  },
  OOM: { final: false, remedy: 'The server is full. Raise maxmemory, or find what fills it.' },
  NOREPLICAS: { final: false, remedy: 'Fewer replicas are connected than min-replicas-to-write demands.' },
  NOPERM: {
    final: true,
    remedy:
      "The user's ACL forbids it. Needed: +@scripting +@read +@write +time +publish +subscribe (with reopenDelay also +info, in a cluster what hf.check() prints), ~PREFIX:* and &PREFIX:* for the prefix in use.",
  },
  NOAUTH: { final: true, remedy: LOGIN },
  // The answer to a login on a new connection. ioredis gives it to what was sent over the one before, too.
  WRONGPASS: { final: true, remedy: LOGIN, unsure: true },
  WRONGTYPE: {
    final: true,
    remedy: 'Something else lies under the key (see TYPE). Choose another name or prefix, or remove it.',
  },
  MOVED: { final: true, remedy: IN_CLUSTER },
  ASK: { final: true, remedy: IN_CLUSTER },
  CROSSSLOT: { final: true, remedy: IN_CLUSTER },
  REOPENING: {
    final: false,
    remedy: 'The server has just been started or promoted, and grants nothing until reopenDelay is over.',
  },
  REOPENDELAY: {
    final: true,
    remedy:
      'Give redisStore the same reopenDelay in every process. To change it, delete PREFIX:epoch when no lock is held.',
  },
  FENCELIMIT: {
    final: true,
    remedy: 'The last fence under PREFIX:fence was set by hand or by a broken clock. Delete that key.',
  },
}

/** Redis names no code when the ACL forbids what a script does: 7.0 says the first, 7.2 and later, and Valkey, the second. */
const ACL_IN_SCRIPT = /\buser executing the script can't\b|\bACL failure in script\b/

const CODE = new RegExp(`(?:^|[\\s:-])(${Object.keys(REFUSALS).join('|')})(?=\\s)`)

/** What a server's error means, also when a script's error wraps it. */
export function refusalOf(message: string, cause?: unknown): StoreFailure {
  const reason = CODE.exec(message)?.[1] ?? (ACL_IN_SCRIPT.test(message) ? 'NOPERM' : undefined)
  const refusal = reason === undefined ? undefined : REFUSALS[reason]
  const oneLine = message.split('\n', 1)[0] ?? message
  return new StoreFailure(`the server said "${oneLine}"`, {
    kind: 'refused',
    outcome: refusal === undefined || refusal.unsure === true ? 'unknown' : 'not-done',
    final: refusal?.final ?? true,
    reason: reason ?? 'ERR',
    remedy: refusal?.remedy ?? '',
    cause,
  })
}

/** The same failure of a call that may have been sent twice: an earlier copy may have been done. */
export function asUnknown({ message, kind, final, reason, remedy, cause }: StoreFailure): StoreFailure {
  return new StoreFailure(message, { kind, outcome: 'unknown', final, reason, remedy, cause })
}

/** What ioredis says, and what a server says that speaks RESP2, where the connection is for messages. Nothing was done. */
const IS_SUBSCRIBED = /\bin subscriber mode\b|\bUNSUBSCRIBE\b.* allowed in this context/

function isSubscribed(client: string): InvalidArgumentError {
  return new InvalidArgumentError('client', `a client of ${client}`, {
    problem: 'is subscribed to channels, and takes no other commands meanwhile',
    remedy: 'Give redisStore a client of its own, as client.duplicate().',
  })
}

/**
 * A reply, or an error, that belongs to another command. node-redis 5 shifts replies when a connection breaks in the very
 * turn in which a command is handed over: the command is never sent, and yet counts as one that waits for its reply.
 */
export function mixedUp(client: string): StoreFailure {
  return new StoreFailure(`the ${client} client handed over the reply to another command`, {
    kind: 'unreachable',
    outcome: 'unknown',
    final: false,
    reason: 'mixed-up',
    remedy:
      'node-redis 5 does this when a connection breaks. Use version 6, or give it disableOfflineQueue: true.',
  })
}

/** Whether the script is not known to the server, so that it has to be sent whole. */
export function isNoScript(error: unknown): boolean {
  return error instanceof Error && error.message.includes('NOSCRIPT')
}

/** How a failed call is to be taken: the server's refusal, or a connection that says nothing about what was done. */
export function failureOf(error: unknown, client: string): StoreFailure {
  if (error instanceof StoreFailure) return error
  if (error instanceof SentTwiceError) return asUnknown(failureOf(error.cause, client))
  if (error instanceof InvalidArgumentError) {
    const parts = {
      kind: 'refused',
      outcome: 'not-done',
      final: true,
      reason: 'client',
      cause: error,
    } as const
    return new StoreFailure(error.message, parts)
  }
  const message = error instanceof Error ? error.message : String(error)
  if (IS_SUBSCRIBED.test(message)) return failureOf(isSubscribed(client), client)
  // None of our commands has a subcommand: this is about one that the client sends by itself.
  if (message.includes('unknown subcommand')) return mixedUp(client)
  // A server's error begins with a code in capitals; a client's own does not.
  if (/^-?[A-Z][A-Z0-9]+ /.test(message)) return refusalOf(message, error)
  return new StoreFailure(`the ${client} client said "${message}"`, {
    kind: 'unreachable',
    outcome: 'unknown',
    final: false,
    reason: 'connection',
    cause: error,
  })
}

import { bounds, defaults } from '../../defaults.ts'
import { parseDuration, type Duration } from '../../duration.ts'
import { InvalidArgumentError } from '../../errors.ts'
import { checkBoolean, checkOptions } from '../../options.ts'
import { StoreFailure } from '../../store/failure.ts'
import { infoLine, infoText } from './info.ts'
import type { OwnConnection } from './own-connections.ts'
import { failureOf } from './refusal.ts'

/** How many replicas must have a grant before it counts. */
export interface AcknowledgeOptions {
  /** How many must have it. Only all of them (`of`) survive any promotion. 1 to `of`. */
  replicas: number
  /** How many replicas are set up and could be promoted: not how many are connected, which a fault makes fewer. 1 to 15. */
  of: number
  /** How long they may take. 1 ms to 10 s, and less than any `ttl`; default 100 ms. */
  within?: Duration
  /**
   * Whether it must lie on their disks too, and on the primary's: `WAITAOF`, Redis 7.2 and later, with `appendonly yes` on all of them, and
   * `appendfsync always` or a `within` of more than two seconds. Default false.
   */
  disk?: boolean
}

/** The same, checked. Times in milliseconds. */
export interface AcknowledgeTerms {
  readonly replicas: number
  readonly of: number
  readonly within: number
  readonly disk: boolean
}

/** @throws InvalidArgumentError that names option, value and remedy */
export function checkAcknowledge(options: unknown): AcknowledgeTerms {
  checkOptions(options, ['replicas', 'of', 'within', 'disk'], 'acknowledge')
  const { replicas, of, within = defaults.acknowledgeWithin, disk = false } = options as AcknowledgeOptions
  checkCount(of, 'acknowledge.of', bounds.maxReplicas)
  checkCount(replicas, 'acknowledge.replicas', of)
  return {
    replicas,
    of,
    within: parseDuration(within, 'acknowledge.within', { min: 1, max: bounds.maxAcknowledgeWithin }),
    disk: checkBoolean(disk, 'acknowledge.disk'),
  }
}

function checkCount(value: unknown, option: string, most: number): void {
  if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= most) return
  throw new InvalidArgumentError(option, value, {
    problem: 'is no number of replicas',
    remedy: `Give a whole number from 1 to ${most}; { replicas: 2, of: 2 } waits for both of two replicas.`,
  })
}

/** A `ttl` must leave time for work once the replicas have answered. */
export function shorterThanWithin(ttl: number, within: number): StoreFailure {
  const cause = new InvalidArgumentError('ttl', ttl, {
    problem: `is not longer than acknowledge.within (${within} ms): it could be over before the replicas answer`,
    remedy: 'Give a longer ttl, or redisStore a shorter acknowledge.within.',
  })
  const parts = { kind: 'refused', outcome: 'not-done', final: true, reason: 'ttl', cause } as const
  return new StoreFailure(cause.message, parts)
}

/** Asks for the acknowledgement of what a connection has just written, and judges it. */
export class Acknowledgement {
  readonly terms: AcknowledgeTerms
  /** Connections whose server was looked at. */
  readonly #looked = new WeakSet<OwnConnection>()
  readonly #client: string

  constructor(terms: AcknowledgeTerms, client: string) {
    this.terms = terms
    this.#client = client
  }

  /**
   * Looks at the server behind a connection, once, before anything is granted over it: whether it can answer `WAITAOF`, and whether more
   * replicas follow it than are counted. One command. Rejects with a `StoreFailure` when nothing may be granted.
   */
  async look(connection: OwnConnection): Promise<void> {
    if (this.#looked.has(connection)) return
    const { of, disk } = this.terms
    const info = await readInfo(connection)
    const version = infoLine(info, 'redis_version')
    if (disk && version !== null && !isAtLeast72(version)) throw tooOld(version)
    if (disk && infoLine(info, 'aof_enabled') === '0') throw noAppendOnlyFile()
    const connected = Number(infoLine(info, 'connected_slaves') ?? 0)
    if (connected > of) throw tooMany(connected, of)
    this.#looked.add(connection)
  }

  /**
   * Waits until enough replicas have what the connection wrote before. Sent right behind it. Resolves with `null`, or with the failure of a
   * grant that too few have; never rejects.
   */
  async wait(connection: OwnConnection): Promise<StoreFailure | null> {
    const { replicas, within, disk } = this.terms
    try {
      const { local, copies } = await waitForReplicas(connection, { disk, replicas, within })
      if (local && copies >= replicas) return null
      return await this.#shortfall(connection, local, Number.isInteger(copies) ? copies : 0)
    } catch (error) {
      // UNBLOCKED when the primary was demoted meanwhile, or a connection that ended: the grant stands, and nobody can tell where.
      return this.#failed(error)
    }
  }

  async #shortfall(connection: OwnConnection, local: boolean, acknowledged: number): Promise<StoreFailure> {
    const { replicas, of, within, disk } = this.terms
    const info = await readInfo(connection).catch(() => '')
    const connected = Number(infoLine(info, 'connected_slaves') ?? 0)
    const seen =
      connected === 0 ? 'the server has no replica' : `${connected} of ${of} replicas are connected`
    const where = disk ? (local ? ' on disk' : ' on disk, and the primary had not,') : ''
    return unacknowledged(
      `${acknowledged} of ${of} replicas had it${where} within ${within} ms, and ${replicas} must; ${seen}`,
      { acknowledged, replicas, of, connected },
    )
  }

  #failed(error: unknown): StoreFailure {
    const { replicas, of } = this.terms
    const { message } = failureOf(error, this.#client)
    return unacknowledged(`no replica could be asked whether it has it: ${message}`, {
      acknowledged: 0,
      replicas,
      of,
      connected: null,
    })
  }
}

/** What came of a wait for replicas. */
export interface Acknowledged {
  /** Whether the primary has it where it must: `true` where its disk is not asked for. */
  readonly local: boolean
  /** How many replicas have it where they must. */
  readonly copies: number
}

/** Waits until so many replicas have what the connection wrote before, in memory or on disk. Rejects with the client's error. */
export async function waitForReplicas(
  connection: OwnConnection,
  { disk, replicas, within }: Omit<AcknowledgeTerms, 'of'>,
): Promise<Acknowledged> {
  if (!disk) {
    const copies = await connection.send(['WAIT', String(replicas), String(within)])
    return { local: true, copies: Number(copies) }
  }
  const [local, copies] = (await connection.send([
    'WAITAOF',
    '1',
    String(replicas),
    String(within),
  ])) as unknown[]
  return { local: Number(local) >= 1, copies: Number(copies) }
}

/** What was missing. */
type Shortfall = NonNullable<StoreFailure['shortfall']>

function unacknowledged(message: string, shortfall: Shortfall): StoreFailure {
  return new StoreFailure(message, {
    kind: 'unreachable',
    outcome: 'unknown',
    final: false,
    reason: 'unacknowledged',
    remedy: 'Look at INFO replication on the primary.',
    shortfall,
  })
}

function tooOld(version: string): StoreFailure {
  const cause = new InvalidArgumentError('acknowledge.disk', true, {
    problem: `needs WAITAOF, which the server (${version}) does not have; Redis has it from 7.2 on`,
    remedy: 'Leave disk out, or use a later server.',
  })
  const parts = { kind: 'refused', outcome: 'not-done', final: true, reason: 'WAITAOF', cause } as const
  return new StoreFailure(cause.message, parts)
}

function noAppendOnlyFile(): StoreFailure {
  const cause = new InvalidArgumentError('acknowledge.disk', true, {
    problem: 'needs an append-only file, which the server does not keep',
    remedy: 'Set appendonly yes on it and on its replicas, or leave disk out.',
  })
  const parts = { kind: 'refused', outcome: 'not-done', final: true, reason: 'WAITAOF', cause } as const
  return new StoreFailure(cause.message, parts)
}

/** It may pass: a replica that comes back is counted twice for a while. */
function tooMany(connected: number, of: number): StoreFailure {
  return new StoreFailure(`${connected} replicas are connected, more than acknowledge.of (${of})`, {
    kind: 'refused',
    outcome: 'not-done',
    final: false,
    reason: 'more-replicas',
    remedy:
      'One that is not waited for may be promoted. Give the number of replicas that are set up as acknowledge.of.',
  })
}

async function readInfo(connection: OwnConnection): Promise<string> {
  return infoText(await connection.send(['INFO']))
}

/** Whether a server of that version has `WAITAOF`. */
export function isAtLeast72(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major > 7 || (major === 7 && minor >= 2)
}

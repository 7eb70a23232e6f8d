import { InvalidArgumentError } from '../../errors.ts'
import { StoreFailure } from '../../store/failure.ts'

/** What we use of a connection of mysql2, of either flavour. */
export interface MysqlConnectionLike {
  query(...args: never[]): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  removeListener(event: 'error', listener: (error: Error) => void): unknown
  destroy(): unknown
}

/** What we use of a pool of mysql2, of either flavour. */
export interface MysqlPoolLike {
  query(...args: never[]): unknown
  getConnection(...args: never[]): unknown
}

/** Texts in the order of the columns. */
export type Row = readonly (string | null)[]

/** What the server says of a change. */
export interface Header {
  readonly affectedRows: number
  /** As `Rows matched: 1  Changed: 0  Warnings: 0`. */
  readonly info: string
  readonly serverStatus: number
}

interface PromiseConnection {
  query(options: QueryOptions): Promise<[unknown, unknown]>
  on(event: 'error' | 'end', listener: (error?: Error) => void): unknown
  removeListener(event: 'error' | 'end', listener: (error?: Error) => void): unknown
  release?(): void
  destroy(): void
}

/** What stands here wins over the settings of the connection. */
interface QueryOptions {
  readonly sql: string
  readonly rowsAsArray: boolean
  readonly nestTables: boolean
  readonly typeCast: (field: { buffer(): Buffer | null }) => string | null
}

/** The bytes as they came, whatever the connection makes of numbers, dates and texts. */
const typeCast: QueryOptions['typeCast'] = (field) => field.buffer()?.toString('utf8') ?? null

/** One connection, for the time of a transaction. */
export class MysqlSession {
  readonly #connection: PromiseConnection

  constructor(connection: unknown) {
    this.#connection = promised<PromiseConnection>(connection)
  }

  async rows(sql: string): Promise<readonly Row[]> {
    return (await this.#query(sql)) as readonly Row[]
  }

  async change(sql: string): Promise<Header> {
    return (await this.#query(sql)) as Header
  }

  /** The rows of the one SELECT in a block of statements. */
  async block(sql: string): Promise<readonly Row[]> {
    const results = (await this.#query(sql)) as readonly unknown[] | Header
    return Array.isArray(results) ? (results[0] as readonly Row[]) : []
  }

  /** Called when the connection ends by itself. An error of it must not end the process meanwhile. */
  onGone(listener: (cause?: unknown) => void): () => void {
    this.#connection.on('error', listener)
    this.#connection.on('end', listener)
    return () => {
      this.#connection.removeListener('error', listener)
      this.#connection.removeListener('end', listener)
    }
  }

  release(): void {
    this.#connection.release?.()
  }

  destroy(): void {
    this.#connection.destroy()
  }

  async #query(sql: string): Promise<unknown> {
    if (sql.length > LARGE_STATEMENT) await this.#checkSize(sql)
    const [result] = await this.#connection.query({ sql, rowsAsArray: true, nestTables: false, typeCast })
    return result
  }

  /** The server would end the connection, and say nothing more. */
  async #checkSize(sql: string): Promise<void> {
    // The message has one byte before the text.
    const bytes = Buffer.byteLength(sql) + 1
    const [row] = await this.rows('SELECT @@SESSION.max_allowed_packet')
    const most = Number(row?.[0])
    if (bytes <= most) return
    throw new StoreFailure(`a statement of ${bytes} bytes is larger than max_allowed_packet, ${most} bytes`, {
      kind: 'refused',
      outcome: 'not-done',
      final: true,
      reason: PACKET_TOO_LARGE,
      remedy:
        'Raise max_allowed_packet of the server to more than twice what is stored at once, or store less (`maxBytes`).',
    })
  }
}

/** The number by which the servers say so. */
const PACKET_TOO_LARGE = '1153'
/** Longer texts may be more than the server takes: it is asked. */
const LARGE_STATEMENT = 256 * 1024

/** How sessions are had: out of a pool, or always the same one. */
export interface MysqlSessions {
  /** Rejects with the client's error. Who takes one gives it back by `release` or, where it does not answer, `destroy`. */
  take(): Promise<MysqlSession>
  /** @param broken whether it must not be used again */
  giveBack(session: MysqlSession, broken: boolean): void
  /** Takes off the client what was put on it. */
  detach(): void
}

const ignore = (): void => undefined

/** Sessions of a pool. */
export class PoolSessions implements MysqlSessions {
  readonly #given: object
  readonly #pool: { getConnection(): Promise<unknown> }

  constructor(pool: object) {
    this.#given = pool
    this.#pool = promised(pool)
  }

  async take(): Promise<MysqlSession> {
    checkMysqlClient(this.#given)
    return new MysqlSession(await this.#pool.getConnection())
  }

  giveBack(session: MysqlSession, broken: boolean): void {
    if (broken) session.destroy()
    else session.release()
  }

  detach(): void {}
}

/** The session of one connection, which is for the store alone: its transactions go one after another. */
export class SingleSession implements MysqlSessions {
  readonly #given: object
  readonly #session: MysqlSession
  readonly #stopListening: () => void
  readonly #line: (() => void)[] = []
  #taken = false
  #broken = false

  constructor(connection: object) {
    this.#given = connection
    this.#session = new MysqlSession(connection)
    this.#stopListening = this.#session.onGone(ignore)
  }

  async take(): Promise<MysqlSession> {
    if (this.#taken) await new Promise<void>((resolve) => this.#line.push(resolve))
    this.#taken = true
    try {
      if (this.#broken) throw ended()
      checkMysqlClient(this.#given)
    } catch (error) {
      // The next in line has to be told, too.
      this.#free()
      throw error
    }
    return this.#session
  }

  giveBack(session: MysqlSession, broken: boolean): void {
    // A connection whose transaction may be open must not get the next one, and it is not ours to make another.
    if (broken) {
      this.#broken = !wasEnded(this.#given)
      session.destroy()
    }
    this.#free()
  }

  detach(): void {
    this.#stopListening()
  }

  #free(): void {
    const next = this.#line.shift()
    if (next === undefined) this.#taken = false
    else next()
  }
}

function ended(): StoreFailure {
  return new StoreFailure('the one connection of this store did not answer and was ended', {
    kind: 'unreachable',
    outcome: 'not-done',
    final: true,
    reason: 'connection',
    remedy: 'Give the store a pool, which replaces broken connections.',
  })
}

export function isMysqlPool(client: object): client is MysqlPoolLike {
  return 'getConnection' in client && typeof client.getConnection === 'function' && !('of' in client)
}

export function isMysqlConnection(client: object): client is MysqlConnectionLike {
  const usable = 'query' in client && typeof client.query === 'function' && 'beginTransaction' in client
  return usable && !isMysqlPool(client)
}

/** @throws InvalidArgumentError when it was ended, or tells that a plain name means something else */
export function checkMysqlClient(client: object): void {
  if (!wasEnded(client)) return
  throw new InvalidArgumentError('client', 'a client of mysql2', {
    problem: 'was ended',
    remedy: 'Give one that is in use, and end it after hf.close().',
  })
}

function wasEnded(client: object): boolean {
  const { pool, connection } = client as Record<'pool' | 'connection', unknown>
  const { _closed, _closing } = Object(pool ?? connection ?? client) as Record<
    '_closed' | '_closing',
    unknown
  >
  return _closed === true || _closing === true
}

/** The flavour with callbacks has the other one beside it. */
function promised<T>(client: unknown): T {
  const { promise } = client as { promise?: unknown }
  return (typeof promise === 'function' ? (promise as () => unknown).call(client) : client) as T
}

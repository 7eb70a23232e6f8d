import { InvalidArgumentError } from '../../errors.ts'
import type { GiveUp } from '../sql/port.ts'
import { firstColumn } from './first-column.ts'
import { ConnectionGone, type ClientTransaction, type PostgresClientPort, type Subscription } from './port.ts'

/** What we use of `sql` of postgres.js, whole or of one transaction. */
export interface PostgresJsLike {
  (...args: never[]): unknown
  unsafe(text: string): PromiseLike<unknown>
  begin(options: string, run: (transaction: PostgresJsScope) => unknown): Promise<unknown>
  listen(
    channel: string,
    hear: (payload: string) => void,
    onListen?: () => void,
  ): Promise<{ unlisten(): Promise<unknown> }>
}

/** What we use of the `sql` that `begin` hands on. */
export interface PostgresJsScope {
  unsafe(text: string): PromiseLike<unknown>
}

export function isPostgresJs(client: unknown): client is PostgresJsLike {
  const methods = ['unsafe', 'begin', 'listen'] as const
  return typeof client === 'function' && methods.every((name) => name in client)
}

/** Whether it is the `sql` of one transaction. */
export function isPostgresJsScope(client: unknown): client is PostgresJsScope {
  return typeof client === 'function' && 'unsafe' in client && 'savepoint' in client
}

/** Sends statements in one message; the text in the first column of the last row of each that brought one. */
export async function sendToPostgresJs(
  scope: PostgresJsScope,
  statements: string,
): Promise<readonly string[]> {
  return textsOf(await scope.unsafe(statements))
}

const ignore = (): void => undefined

/**
 * The port over postgres.js. A transaction goes by its `begin`, which is the only way there to learn that the connection was lost
 * in between; it costs two round trips more than with pg.
 */
export class PostgresJsPort implements PostgresClientPort {
  readonly client = 'postgres'
  readonly #sql: PostgresJsLike

  constructor(sql: PostgresJsLike) {
    this.#sql = sql
  }

  begin(statements: string, giveUp: GiveUp): Promise<ClientTransaction> {
    return new Promise((resolve, reject) => {
      const transaction = new PostgresJsTransaction()
      const work = async (scope: PostgresJsScope): Promise<void> => {
        if (giveUp.given) throw new Error('given up')
        giveUp.onGiven(() => transaction.destroy())
        transaction.reply = textOf(await transaction.send(scope, statements))
        resolve(transaction)
        await transaction.work(scope)
      }
      this.#sql.begin('isolation level read committed', work).then(
        () => transaction.ended(null),
        (error: unknown) => reject(transaction.ended(told(error)) as Error),
      )
    })
  }

  async query(statements: string): Promise<string> {
    try {
      return textOf(await this.#sql.unsafe(statements))
    } catch (error) {
      throw told(error)
    }
  }

  subscribe(channel: string, onMessage: (payload: string) => void, onGap: () => void): Subscription {
    const listening = this.#sql.listen(channel, onMessage, onGap)
    listening.catch(ignore)
    return {
      close: async () => {
        await listening.then((subscription) => subscription.unlisten()).catch(ignore)
      },
    }
  }

  detach(): void {
    // Nothing of ours is on it.
  }
}

/** What the client says when its owner has ended it, before anything is sent. */
function told(error: unknown): unknown {
  if ((error as { code?: unknown }).code !== 'CONNECTION_ENDED') return error
  return new InvalidArgumentError('client', 'sql of postgres.js', {
    problem: 'was ended',
    remedy: 'Give one that is in use, and end it after hf.close().',
  })
}

/** Undoes a transaction from within. */
class Undo extends Error {
  override readonly name = 'Undo'
}

/** A transaction that waits, inside of `begin`, for what is to become of it. */
class PostgresJsTransaction implements ClientTransaction {
  reply = ''
  #decide: (statements: string | null) => void = ignore
  readonly #decision = new Promise<string | null>((resolve) => (this.#decide = resolve))
  #asked = false
  /** Why the connection was lost, as far as a statement was told. */
  #cause: unknown = null
  #end: { readonly error: unknown } | null = null
  #tell: (error: unknown) => void = ignore
  readonly #ended = new Promise<unknown>((resolve) => (this.#tell = resolve))

  /**
   * Sends statements. When the connection was lost this never settles: `begin` would answer an error by a ROLLBACK on the connection that is
   * no more, which ends the process; it learns of the loss by itself, and ends.
   */
  async send(scope: PostgresJsScope, statements: string): Promise<unknown> {
    try {
      return await scope.unsafe(statements)
    } catch (error) {
      if (!endsConnection(error)) throw error
      this.#cause = error
      return new Promise(() => undefined)
    }
  }

  /** Inside of `begin`: what comes after it returns is the commit. */
  async work(scope: PostgresJsScope): Promise<void> {
    const statements = await this.#decision
    if (statements === null) throw new Undo('undone')
    await this.send(scope, statements)
  }

  /** `begin` has ended. */
  ended(error: unknown): unknown {
    const cause = error === null ? null : (this.#cause ?? error)
    this.#end = { error: cause }
    this.#tell(cause)
    return cause
  }

  async commit(statements: string): Promise<void> {
    // On a connection that is gone a further statement would break the client.
    if (this.#end !== null) throw new ConnectionGone(this.#end.error)
    this.#asked = true
    this.#decide(statements)
    const error = await this.#ended
    if (error !== null) throw error
  }

  async rollback(): Promise<void> {
    if (this.#asked || this.#end !== null) return
    this.#decide(null)
    await this.#ended
  }

  destroy(): void {
    // One connection cannot be ended by itself: the transaction ends when the database answers, or by the database's own time-out.
    this.#decide(null)
  }
}

function textOf(results: unknown): string {
  return textsOf(results).at(-1) ?? ''
}

/** One statement brings its rows, several a list for each. */
function textsOf(results: unknown): readonly string[] {
  const all = results as readonly unknown[]
  const lists = Array.isArray(all[0]) ? (all as readonly (readonly unknown[])[]) : [all]
  return lists.flatMap((rows) => (rows.length === 0 ? [] : [firstColumn(rows.at(-1))]))
}

/** Whether it is not one of the server's errors that leave the connection as it is. */
function endsConnection(error: unknown): boolean {
  return (error as { severity?: unknown }).severity !== 'ERROR'
}

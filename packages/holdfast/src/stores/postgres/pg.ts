import type { Clock } from '../../clock.ts'
import { InvalidArgumentError } from '../../errors.ts'
import {
  textOf,
  type PgClientClass,
  type PgClientLike,
  type PgNotification,
  type PgPoolLike,
} from './pg-shapes.ts'
import { PgSubscription } from './pg-subscription.ts'
import { PgTransaction } from './pg-transaction.ts'
import type { GiveUp } from '../sql/port.ts'
import type { ClientTransaction, PostgresClientPort, Subscription } from './port.ts'

interface PooledClient extends PgClientLike {
  release(error?: Error | boolean): void
}

/** @throws InvalidArgumentError when this pool cannot be used */
export function checkPgPool(pool: PgPoolLike): void {
  if (!pool.ended && (pool as { ending?: unknown }).ending !== true) return
  throw new InvalidArgumentError('client', 'a pool of pg', {
    problem: 'was ended',
    remedy: 'Give a pool that is in use, and end it after hf.close().',
  })
}

/** @throws InvalidArgumentError when this connection was ended by its owner */
function checkPgClient(client: PgClientLike): void {
  if ((client as { _ending?: unknown })._ending !== true) return
  throw new InvalidArgumentError('client', 'a client of pg', {
    problem: 'was ended',
    remedy: 'Give one that is in use, and end it after hf.close().',
  })
}

const ignore = (): void => undefined

function giveBack(client: PooledClient, broken: boolean): void {
  // What it says later must not end the process.
  if (broken) client.on('error', ignore)
  client.release(broken)
}

/** The port over a pool of pg. */
export class PgPoolPort implements PostgresClientPort {
  readonly client = 'pg'
  readonly #pool: PgPoolLike
  readonly #clock: Clock

  constructor(pool: PgPoolLike, clock: Clock) {
    this.#pool = pool
    this.#clock = clock
    // Without a listener an idle connection that breaks would end the process.
    pool.on('error', ignore)
  }

  async begin(statements: string, giveUp: GiveUp): Promise<ClientTransaction> {
    checkPgPool(this.#pool)
    const client = (await this.#pool.connect()) as PooledClient
    const transaction = new PgTransaction(client, (broken) => giveBack(client, broken))
    if (giveUp.given) {
      transaction.end(false)
      throw new Error('given up')
    }
    giveUp.onGiven(() => transaction.destroy())
    await transaction.begin(statements)
    return transaction
  }

  async query(statements: string, giveUp: GiveUp): Promise<string> {
    checkPgPool(this.#pool)
    const client = (await this.#pool.connect()) as PooledClient
    let over = false
    const end = (broken: boolean): void => {
      if (!over) giveBack(client, broken)
      over = true
    }
    if (giveUp.given) {
      end(false)
      throw new Error('given up')
    }
    giveUp.onGiven(() => end(true))
    const listening = (): void => undefined
    client.on('error', listening)
    try {
      const text = textOf(await client.query(statements))
      end(false)
      return text
    } catch (error) {
      end(true)
      throw error
    } finally {
      client.removeListener('error', listening)
    }
  }

  subscribe(channel: string, onMessage: (payload: string) => void, onGap: () => void): Subscription {
    const { Client } = this.#pool as unknown as { Client: PgClientClass }
    const { options } = this.#pool
    return new PgSubscription(this.#clock, () => new Client(options), channel, onMessage, onGap)
  }

  detach(): void {
    this.#pool.removeListener('error', ignore)
  }
}

/** The port over one connection of pg, which is for the store alone: its transactions go one after another. */
export class PgClientPort implements PostgresClientPort {
  readonly client = 'pg'
  readonly #client: PgClientLike
  #last: Promise<void> = Promise.resolve()

  constructor(client: PgClientLike) {
    this.#client = client
    client.on('error', ignore)
  }

  async begin(statements: string, giveUp: GiveUp): Promise<ClientTransaction> {
    const before = this.#last
    let free: () => void = ignore
    this.#last = new Promise((resolve) => (free = resolve))
    await before
    const transaction = new PgTransaction(this.#client, free)
    try {
      if (giveUp.given) throw new Error('given up')
      checkPgClient(this.#client)
    } catch (error) {
      transaction.end(false)
      throw error
    }
    await transaction.begin(statements)
    if (giveUp.given) await transaction.rollback()
    return transaction
  }

  async query(statements: string): Promise<string> {
    await this.#last
    checkPgClient(this.#client)
    return textOf(await this.#client.query(statements))
  }

  subscribe(channel: string, onMessage: (payload: string) => void, onGap: () => void): Subscription {
    const hear = (message: PgNotification): void => {
      if (message.channel === channel) onMessage(message.payload ?? '')
    }
    this.#client.on('notification', hear)
    this.query(`LISTEN "${channel}"`).then(onGap, ignore)
    return {
      close: async () => {
        this.#client.removeListener('notification', hear)
        await this.query(`UNLISTEN "${channel}"`).catch(ignore)
      },
    }
  }

  detach(): void {
    this.#client.removeListener('error', ignore)
  }
}

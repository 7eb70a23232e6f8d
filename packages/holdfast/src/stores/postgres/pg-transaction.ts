import { textOf, type PgClientLike } from './pg-shapes.ts'
import { ConnectionGone, type ClientTransaction } from './port.ts'

/** One transaction on a connection of pg. */
export class PgTransaction implements ClientTransaction {
  reply = ''
  readonly #client: PgClientLike
  readonly #giveBack: (broken: boolean) => void
  /** What the connection said by itself, as that the database has ended it. */
  #lastWords: unknown = null
  #over = false
  readonly #onError = (error: unknown): void => {
    this.#lastWords ??= error
  }

  constructor(client: PgClientLike, giveBack: (broken: boolean) => void) {
    this.#client = client
    this.#giveBack = giveBack
    client.on('error', this.#onError)
  }

  async begin(statements: string): Promise<void> {
    try {
      this.reply = textOf(await this.#client.query(`BEGIN ISOLATION LEVEL READ COMMITTED;\n${statements}`))
    } catch (error) {
      await this.#undo()
      throw error
    }
  }

  async commit(statements: string): Promise<void> {
    if (this.#lastWords !== null) {
      // Nothing of it was committed: it had ended before.
      this.end(true)
      throw new ConnectionGone(this.#lastWords)
    }
    try {
      await this.#client.query(`${statements};\nCOMMIT`)
    } catch (error) {
      await this.#undo()
      throw error
    }
    this.end(false)
  }

  rollback(): Promise<void> {
    return this.#undo()
  }

  destroy(): void {
    this.end(true)
  }

  end(broken: boolean): void {
    if (this.#over) return
    this.#over = true
    this.#client.removeListener('error', this.#onError)
    this.#giveBack(broken)
  }

  async #undo(): Promise<void> {
    const undone = await this.#client.query('ROLLBACK').then(
      () => true,
      () => false,
    )
    this.end(!undone)
  }
}

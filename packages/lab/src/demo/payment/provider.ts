import type { Database } from 'better-sqlite3'
import { openDatabase } from '../database.ts'
import { slow } from '../work.ts'

/**
 * A payment provider that exists only here: a table of charges in a database of its own, to which nothing but lines can
 * be added. What was charged is charged, whatever becomes of the order.
 */
export class PaymentProvider {
  readonly #database: Database

  constructor(file: string) {
    this.#database = openDatabase(file)
  }

  static create(file: string): PaymentProvider {
    const provider = new PaymentProvider(file)
    provider.#database.exec(`
      CREATE TABLE charges (id INTEGER PRIMARY KEY, attempt TEXT NOT NULL);
      CREATE TRIGGER no_update BEFORE UPDATE ON charges BEGIN SELECT raise(ABORT, 'append only'); END;
      CREATE TRIGGER no_delete BEFORE DELETE ON charges BEGIN SELECT raise(ABORT, 'append only'); END;`)
    return provider
  }

  /** Takes the money as soon as it is asked, and answers after a while. */
  async charge(attempt: string): Promise<void> {
    this.#database.prepare('INSERT INTO charges (attempt) VALUES (?)').run(attempt)
    await slow(40, 80)
  }

  charges(): number {
    return (this.#database.prepare('SELECT count(*) AS n FROM charges').get() as { n: number }).n
  }

  close(): void {
    this.#database.close()
  }
}

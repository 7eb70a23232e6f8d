import Database from 'better-sqlite3'

/** What is left of items, and who bought them. */
export class Stock {
  readonly #database: Database.Database

  constructor(file: string) {
    this.#database = new Database(file)
    this.#database.pragma('journal_mode = WAL')
    this.#database.exec(`
      CREATE TABLE IF NOT EXISTS stock (item TEXT PRIMARY KEY, left_over INTEGER NOT NULL, fence INTEGER NOT NULL DEFAULT 0);
      CREATE TABLE IF NOT EXISTS sales (item TEXT NOT NULL, user TEXT NOT NULL)`)
  }

  put(item: string, count: number): void {
    this.#database.prepare('INSERT INTO stock (item, left_over) VALUES (?, ?)').run(item, count)
  }

  left(item: string): number {
    return this.#database.prepare('SELECT left_over FROM stock WHERE item = ?').pluck().get(item) as number
  }

  sales(item: string): number {
    return this.#database.prepare('SELECT count(*) FROM sales WHERE item = ?').pluck().get(item) as number
  }

  /** One less, whoever asks. */
  sell(item: string, user: string): boolean {
    return this.#sell('UPDATE stock SET left_over = left_over - 1 WHERE item = $item', item, user)
  }

  /** One less, unless somebody with a later fence has written. */
  sellFenced(item: string, user: string, fence: bigint): boolean {
    const update = `UPDATE stock SET left_over = left_over - 1, fence = $fence
                    WHERE item = $item AND fence <= $fence`
    return this.#sell(update, item, user, fence)
  }

  /** One less, if there is one: look and write in one statement. */
  sellOne(item: string, user: string): boolean {
    const update = 'UPDATE stock SET left_over = left_over - 1 WHERE item = $item AND left_over > 0'
    return this.#sell(update, item, user)
  }

  close(): void {
    this.#database.close()
  }

  #sell(update: string, item: string, user: string, fence?: bigint): boolean {
    return this.#database
      .transaction(() => {
        const values = fence === undefined ? { item } : { item, fence }
        if (this.#database.prepare(update).run(values).changes === 0) return false
        this.#database.prepare('INSERT INTO sales (item, user) VALUES (?, ?)').run(item, user)
        return true
      })
      .immediate()
  }
}

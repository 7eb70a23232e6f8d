import Database from 'better-sqlite3'

export interface PlacedOrder {
  readonly id: number
  readonly item: string
}

/** Orders in SQLite. Both tables are the same, but that one knows what may be there once. */
export class Orders {
  readonly #database: Database.Database

  constructor(file: string) {
    this.#database = new Database(file)
    this.#database.pragma('journal_mode = WAL')
    const columns = 'id INTEGER PRIMARY KEY, user TEXT NOT NULL, form TEXT NOT NULL, item TEXT NOT NULL'
    this.#database.exec(`
      CREATE TABLE IF NOT EXISTS loose_orders (${columns});
      CREATE TABLE IF NOT EXISTS unique_orders (${columns}, UNIQUE (user, form))`)
  }

  /**
   * @param form the key of the form that was sent
   * @param unique whether the constraint has a say: then the second one finds the first
   */
  place(user: string, form: string, item: string, unique: boolean): PlacedOrder {
    const table = unique ? 'unique_orders' : 'loose_orders'
    const insert = `INSERT INTO ${table} (user, form, item) VALUES (?, ?, ?) ON CONFLICT DO NOTHING RETURNING id, item`
    const placed = this.#database.prepare(insert).get(user, form, item)
    const found = `SELECT id, item FROM ${table} WHERE user = ? AND form = ?`
    return (placed ?? this.#database.prepare(found).get(user, form)) as PlacedOrder
  }

  countOf(user: string): number {
    const count = (table: string) =>
      this.#database.prepare(`SELECT count(*) FROM ${table} WHERE user = ?`).pluck().get(user) as number
    return count('loose_orders') + count('unique_orders')
  }

  close(): void {
    this.#database.close()
  }
}

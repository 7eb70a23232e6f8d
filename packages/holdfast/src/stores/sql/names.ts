import { InvalidArgumentError } from '../../errors.ts'

/** A store's tables, without what their names begin with. */
export type SqlTable = 'meta' | 'lock' | 'queue' | 'limit' | 'limit_reply' | 'once'

/** How a database speaks of tables. */
export interface SqlNaming {
  readonly quote: '"' | '`'
  /** The option that says where the tables lie. */
  readonly place: 'schema' | 'database'
}

/** A name that needs no thought about quotes, and leaves room for what is added to it (Postgres keeps 63 bytes, MySQL 64 characters). */
const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,39}$/

/** The names of our tables, ready to stand in a statement. */
export class SqlNames {
  /** The schema or database they lie in; `null` for the connection's own. */
  readonly place: string | null
  readonly #quote: string
  readonly #prefix: string

  /** @throws InvalidArgumentError that names option, value and remedy */
  constructor(naming: SqlNaming, place: string | undefined, tablePrefix = 'holdfast_') {
    if (place !== undefined) checkName(place, naming.place, 'shop')
    checkName(tablePrefix, 'tablePrefix', 'shop_holdfast_')
    this.place = place ?? null
    this.#quote = naming.quote
    this.#prefix = tablePrefix
  }

  /** A table's name without its place and without quotes. */
  plain(table: SqlTable): string {
    return `${this.#prefix}${table}`
  }

  of(table: SqlTable): string {
    const quote = this.#quote
    const name = `${quote}${this.plain(table)}${quote}`
    return this.place === null ? name : `${quote}${this.place}${quote}.${name}`
  }
}

function checkName(value: unknown, option: string, example: string): void {
  if (typeof value === 'string' && NAME.test(value)) return
  throw new InvalidArgumentError(option, value, {
    problem: 'is not a plain name of up to 40 letters, digits and underscores',
    remedy: `Give one such as '${example}'.`,
  })
}

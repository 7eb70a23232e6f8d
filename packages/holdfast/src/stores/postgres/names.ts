import { checkOptions } from '../../options.ts'
import { SqlNames } from '../sql/names.ts'

/** Where the tables of a Postgres store lie, and how they are called. */
export interface PostgresTableOptions {
  /** The schema they lie in. Default: the first one of the connection's `search_path`. */
  schema?: string
  /** What their names begin with. Default `holdfast_`. */
  tablePrefix?: string
}

/** The names of our tables, ready to stand in a statement. */
export class PostgresNames extends SqlNames {
  /** @throws InvalidArgumentError that names option, value and remedy */
  constructor({ schema, tablePrefix }: PostgresTableOptions = {}) {
    super({ quote: '"', place: 'schema' }, schema, tablePrefix)
  }
}

/** @throws InvalidArgumentError for options that are unknown or wrong */
export function namesFor(options: PostgresTableOptions, where: string): PostgresNames {
  checkOptions(options, ['schema', 'tablePrefix'], where)
  return new PostgresNames(options)
}

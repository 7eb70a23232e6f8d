import { checkOptions } from '../../options.ts'
import { SqlNames } from '../sql/names.ts'

/** Where the tables of a MySQL store lie, and how they are called. */
export interface MysqlTableOptions {
  /** The database they lie in. Default: the one of the connection. */
  database?: string
  /** What their names begin with. Default `holdfast_`. */
  tablePrefix?: string
}

/** The names of our tables, ready to stand in a statement. */
export class MysqlNames extends SqlNames {
  /** @throws InvalidArgumentError that names option, value and remedy */
  constructor({ database, tablePrefix }: MysqlTableOptions = {}) {
    super({ quote: '`', place: 'database' }, database, tablePrefix)
  }
}

/** @throws InvalidArgumentError for options that are unknown or wrong */
export function namesFor(options: MysqlTableOptions, where: string): MysqlNames {
  checkOptions(options, ['database', 'tablePrefix'], where)
  return new MysqlNames(options)
}

import type {
  FenceCheckOptions,
  FenceColumnOptions,
  FenceSource,
  GuardedOutcome,
  GuardedRow,
} from 'holdfast/fence'

/** A statement of the test's own, and what the driver says of it. Values stand for `{1}`, `{2}`, … in the text. */
export type Run = (
  sql: string,
  ...values: unknown[]
) => Promise<{ rows: Record<string, unknown>[]; result: unknown }>

export interface Transaction {
  /** What a guard is given. */
  readonly tx: unknown
  readonly run: Run
}

/** A guard of whichever database. Its methods may throw at once or reject. */
export interface AnyGuard {
  readonly schema: string
  migrate(db: unknown): unknown
  check(tx: unknown, resource: string, fence: FenceSource, options?: FenceCheckOptions): unknown
  raise(tx: unknown, resource: string, fence: FenceSource, options?: Pick<FenceCheckOptions, 'lock'>): unknown
  column(
    fence: FenceSource,
    options?: FenceColumnOptions,
  ): {
    readonly set: string
    readonly where: string
    readonly value: unknown
    outcome(tx: unknown, result: unknown, row: GuardedRow): GuardedOutcome | Promise<GuardedOutcome>
  }
}

/** One database with one client, as the suite of guards uses it. */
export interface Scene {
  guard(options?: { table?: string }): AnyGuard
  /** Where `migrate` works: a pool where there is one. */
  readonly db: unknown
  /** Runs the work inside a transaction: committed, or rolled back when it throws. */
  transaction<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>
  /** The same over connections that are in no transaction. */
  bare<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>
  /** Its placeholders, as `$1` or `?`. */
  placeholder(n: number): string
  /** Statements that the guard has sent since the last call. */
  statements(): string[]
  close(): Promise<void>
}

/** The test's own text with this database's placeholders. */
export function placed(sql: string, placeholder: (n: number) => string): string {
  return sql.replace(/\{(\d)\}/g, (_, n: string) => placeholder(Number(n)))
}

/** Notes the text of every statement that goes through one of these methods. */
export function noting<T extends object>(target: T, methods: readonly (keyof T)[], notes: string[]): T {
  return new Proxy(target, {
    get(object, name) {
      const value: unknown = Reflect.get(object, name, object)
      if (typeof value !== 'function') return value
      const noted = methods.includes(name as keyof T)
      return (...args: unknown[]) => {
        if (noted) notes.push(String(args[0]))
        return Reflect.apply(value, object, args) as unknown
      }
    },
  })
}

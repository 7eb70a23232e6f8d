export {
  postgresStore,
  type PostgresClient,
  type PostgresStore,
  type PostgresStoreOptions,
} from './postgres-store.ts'
export { postgresSchema } from './schema.ts'
export type { PostgresTableOptions } from './names.ts'
export type { PgClientLike, PgPoolLike } from './pg-shapes.ts'
export type { PostgresJsLike } from './postgres-js.ts'
export { postgresFence, type PostgresFence, type PostgresFenceColumn } from '../../fence/postgres-fence.ts'
export { postgresSessionLock } from './session-lock.ts'
export type { MigrateOptions } from '../sql/migration.ts'
export type { SessionLock, SessionAcquireOptions, SessionLockOptions } from '../sql/session-lock.ts'
export type { SessionHeld, SessionReleaseOutcome } from '../sql/session-held.ts'

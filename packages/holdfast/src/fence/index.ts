export type { FencedHold, FenceSource } from './fence-source.ts'
export type { FenceCheckOptions, FenceGuardOptions } from './guard-options.ts'
export type { FenceColumnOptions, GuardedOutcome, GuardedRow } from './fence-column.ts'
export { postgresFence, type PostgresFence, type PostgresFenceColumn } from './postgres-fence.ts'
export type {
  FencePgLike,
  PostgresDatabase,
  FencePostgresJsLike,
  PostgresTransaction,
} from './postgres-session.ts'
export { mysqlFence, type MysqlFence, type MysqlFenceColumn } from './mysql-fence.ts'
export type { FenceMysqlLike, MysqlDatabase, MysqlTransaction } from './mysql-session.ts'
export {
  redisFence,
  type FencedValue,
  type FencedWriteOptions,
  type RedisFence,
  type RedisFenceOptions,
} from './redis-fence.ts'
export type {
  FenceIoredisLike,
  FenceNodeRedisClusterLike,
  FenceNodeRedisLike,
  FenceRedisClient,
} from './redis-session.ts'
export { sqliteFence, type SqliteFence, type SqliteFenceColumn } from './sqlite-fence.ts'
export type { SqliteDatabaseLike, SqliteStatementLike } from './sqlite-fence.ts'

export { sqliteStore } from './sqlite-store.ts'
export type { SqliteDatabase, SqliteStatement } from './database.ts'
export { sqliteFence, type SqliteFence, type SqliteFenceColumn } from '../../fence/sqlite-fence.ts'

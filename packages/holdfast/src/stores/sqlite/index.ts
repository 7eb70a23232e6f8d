export { sqliteStore } from './sqlite-store.ts'
export type { SqliteDatabase, SqliteStatement } from './database.ts'

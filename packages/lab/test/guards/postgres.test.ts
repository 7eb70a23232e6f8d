import { afterAll, beforeAll } from 'vitest'
import { postgresUrlOrStart, type PostgresServer, type SqlToUse } from '../../src/index.ts'
import { guardSuite } from './support/guard-suite.ts'
import { pgScene, postgresJsScene } from './support/scenes.ts'

let postgres: SqlToUse<PostgresServer>
beforeAll(async () => {
  postgres = await postgresUrlOrStart()
})
afterAll(() => postgres.stop())

guardSuite('pg', () => pgScene(postgres.url))
guardSuite('postgres.js', () => postgresJsScene(postgres.url))

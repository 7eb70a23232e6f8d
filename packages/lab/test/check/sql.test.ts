import { createHoldfast, type Finding, type Store } from 'holdfast'
import { mysqlStore } from 'holdfast/mysql'
import { postgresStore } from 'holdfast/postgres'
import { createPool } from 'mysql2/promise'
import { Pool } from 'pg'
import postgres from 'postgres'
import { expect, test } from 'vitest'
import { startMariadb, startPostgres } from '../../src/index.ts'

/**
 * Goal: the check says of a database whether a crash can lose what it has committed.
 * Method: real servers, with the settings that decide it.
 */

async function found(store: Store & { migrate(): Promise<void> }): Promise<Finding | undefined> {
  await store.migrate()
  const hf = createHoldfast({ store })
  const { findings, ok } = await hf.check()
  await hf.close()
  expect(ok).toBe(true)
  return findings.find(({ hazard }) => hazard === 'persistence')
}

test('Postgres: synchronous_commit of the user, and fsync', async () => {
  const server = await startPostgres({ settings: { fsync: 'on' } })
  const back = new Pool({ connectionString: server.url, max: 2 })
  expect(await found(postgresStore(back))).toMatchObject({
    severity: 'fine',
    saw: 'synchronous_commit on, fsync on',
    remedy: null,
  })
  await back.query('CREATE USER hasty SUPERUSER; ALTER USER hasty SET synchronous_commit = off')
  const hasty = postgres(server.url.replace('postgres@', 'hasty@'), { max: 2, onnotice: () => undefined })
  expect(await found(postgresStore(hasty))).toMatchObject({
    severity: 'warning',
    saw: 'synchronous_commit off, fsync on',
    means: expect.stringContaining('a crash of the server loses the last commits') as unknown,
    remedy: expect.stringContaining('Set synchronous_commit and fsync on') as unknown,
  })
  await hasty.end()
  await back.end()
  await server.stop()
})

test('Postgres without fsync: a crash of the machine', async () => {
  const server = await startPostgres({ settings: { fsync: 'off' } })
  const pool = new Pool({ connectionString: server.url, max: 2 })
  expect(await found(postgresStore(pool))).toMatchObject({
    severity: 'note',
    saw: 'synchronous_commit on, fsync off',
    means: expect.stringContaining('a crash of the machine loses') as unknown,
  })
  await pool.end()
  await server.stop()
})

test('MariaDB: innodb_flush_log_at_trx_commit', async () => {
  const server = await startMariadb()
  const pool = createPool({ uri: server.url, connectionLimit: 4 })
  const severities: (string | undefined)[] = []
  for (const flush of [0, 1, 2]) {
    await pool.query(`SET GLOBAL innodb_flush_log_at_trx_commit = ${flush}`)
    const finding = await found(mysqlStore(pool))
    expect(finding?.saw).toBe(`innodb_flush_log_at_trx_commit ${flush}`)
    severities.push(finding?.severity)
  }
  expect(severities).toEqual(['warning', 'fine', 'note'])
  await pool.end()
  await server.stop()
})

import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import { createConnection, type RowDataPacket } from 'mysql2/promise'
import { Client } from 'pg'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { owned, spawnWorker, startMysql, startPostgres, waitFor } from '../../src/index.ts'
import type { MysqlServer, PostgresServer, Worker } from '../../src/index.ts'
import * as ports from '../../src/servers/free-port.ts'

/** Goal: database servers of ours can be frozen, killed and started again, and leave nothing behind. */

const kinds = {
  postgres: {
    start: startPostgres,
    run: runOnPostgres,
    missing: { programs: '/nowhere' },
    unreadable: { settings: { shared_buffers: 'plenty' } },
  },
  mariadb: {
    start: startMysql,
    run: runOnMysql,
    missing: { program: '/nowhere/mariadbd' },
    unreadable: { settings: { 'no-such-option': 1 } },
  },
}

async function runOnPostgres(url: string, ...statements: string[]): Promise<unknown[]> {
  const client = new Client(url)
  client.on('error', () => {})
  await client.connect()
  try {
    let rows: unknown[] = []
    for (const statement of statements) rows = (await client.query(statement)).rows
    return rows
  } finally {
    await client.end()
  }
}

async function runOnMysql(url: string, ...statements: string[]): Promise<unknown[]> {
  const connection = await createConnection(url)
  try {
    let rows: unknown[] = []
    for (const statement of statements) [rows] = await connection.query<RowDataPacket[]>(statement)
    return rows
  } finally {
    connection.destroy()
  }
}

const servers: (PostgresServer | MysqlServer)[] = []
let parent: Worker | undefined

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()))
  await parent?.kill()
  parent = undefined
  vi.restoreAllMocks()
  expect(owned()).toEqual({ pids: [], folders: [] })
})

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

describe.each(Object.entries(kinds))('%s', (name, { start, run, missing, unreadable }) => {
  async function started(): Promise<PostgresServer | MysqlServer> {
    const server = await start()
    servers.push(server)
    return server
  }

  test('keeps what was committed over kill and restart, stands still when told, and goes', async () => {
    const server = await started()
    await run(server.url, 'CREATE TABLE kept (a INT)', 'INSERT INTO kept VALUES (7)')

    await server.pause()
    let answered = false
    const asked = run(server.url, 'SELECT a FROM kept').then((rows) => {
      answered = true
      return rows
    })
    await new Promise((resolve) => setTimeout(resolve, 150))
    expect(answered).toBe(false)
    server.resume()
    expect(await asked).toEqual([{ a: 7 }])

    await server.kill()
    expect(server.running).toBe(false)
    await server.restart()
    await server.restart({ how: 'kill' })
    expect(await run(server.url, 'SELECT a FROM kept')).toEqual([{ a: 7 }])

    await server.stop()
    expect(isAlive(server.pid)).toBe(false)
    await server.stop()
    await expect(server.restart()).rejects.toThrow('stopped for good')
  })

  test('says what is wrong with a missing program and with a setting', async () => {
    await expect(start(missing as object)).rejects.toThrow(/ENOENT|not found/)
    await expect(start(unreadable as object)).rejects.toThrow(/ended at its start.*(plenty|no-such-option)/s)
  })

  test('goes with a process that is killed while the server stands still with an open connection', async () => {
    parent = await spawnWorker(new URL('./support/starts-a-sql-server.ts', import.meta.url), { args: [name] })
    const { pids, folder } = await parent.call<{ pids: number[]; folder: string }>('freeze')
    expect(pids.length).toBeGreaterThan(0)
    await parent.kill()
    await waitFor(() => !pids.some(isAlive), { what: 'the server to go with its parent' })
    await waitFor(() => !existsSync(folder), { what: 'its folder to go' })
  })
})

test('postgres: stopped for good, it lets a client go that is on its way out', async () => {
  const server = await startPostgres()
  servers.push(server)
  const client = new Client(server.url)
  const errors: Error[] = []
  client.on('error', (error) => errors.push(error))
  await client.connect()
  const left = new Promise((resolve) => setTimeout(() => void client.end().then(resolve), 100))
  await server.stop()
  await left
  expect(errors).toEqual([])
})

test('mariadb: users with rights of their own, when asked for', async () => {
  const server = await startMysql({ accounts: true })
  servers.push(server)
  await runOnMysql(
    server.url,
    "CREATE USER reader IDENTIFIED BY 'secret'",
    'GRANT SELECT ON test.* TO reader',
    'CREATE TABLE t (a INT)',
  )
  const url = server.url.replace('root@', 'reader:secret@')
  expect(await runOnMysql(url, 'SELECT * FROM t')).toEqual([])
  await expect(runOnMysql(url, 'INSERT INTO t VALUES (1)')).rejects.toMatchObject({
    code: 'ER_TABLEACCESS_DENIED_ERROR',
  })
})

test('a database server tries another port when somebody took the chosen one', async () => {
  const intruder = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => intruder.once('listening', resolve))
  const { port } = intruder.address() as { port: number }
  vi.spyOn(ports, 'freePort').mockResolvedValueOnce(port)
  const server = await startMysql()
  servers.push(server)
  expect(server.port).not.toBe(port)
  intruder.close()
})

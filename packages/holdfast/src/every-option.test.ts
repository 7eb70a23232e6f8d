import BetterSqlite3 from 'better-sqlite3'
import { afterAll, describe, expect, test } from 'vitest'
import { InvalidArgumentError } from './errors.ts'
import { mysqlFence, postgresFence, redisFence, sqliteFence } from './fence/index.ts'
import * as express from './http/express.ts'
import * as fastify from './http/fastify.ts'
import * as hono from './http/hono.ts'
import * as http from './http/index.ts'
import * as koa from './http/koa.ts'
import { backoff, createHoldfast, fixedWindow, slidingWindow, tokenBucket } from './index.ts'
import { concurrency, leakyBucket, slidingCounter } from './index.ts'
import { memoryStore } from './stores/memory/index.ts'
import { mysqlSchema, mysqlStore } from './stores/mysql/index.ts'
import { postgresSchema, postgresStore } from './stores/postgres/index.ts'
import { quorumStore } from './stores/quorum/index.ts'
import { redisStore } from './stores/redis/index.ts'
import { SessionLock } from './stores/sql/session-lock.ts'
import { sqliteStore } from './stores/sqlite/index.ts'
import {
  checkHistory,
  HistoryRecorder,
  limitStoreContract,
  lockStoreContract,
  MemoryHistory,
  onceStoreContract,
  VirtualClock,
} from './testing/index.ts'

/**
 * Goal: nothing that is meant goes unnoticed: whatever takes options, or might be thought to, refuses what it does not know.
 * Method: every public function and method is given an option that does not exist, and what is no object of options.
 */

const database = new BetterSqlite3(':memory:')
const store = memoryStore()
const hf = createHoldfast({ store })
const lock = hf.lock('order')
const limiter = hf.limiter('api', fixedWindow({ limit: 1_000, per: '1m' }))
const once = hf.idempotency('payments')
const session = new SessionLock('report', {}, {} as never)
const work = (): null => null
afterAll(async () => {
  await hf.close()
  database.close()
})

const pg = { query: async () => ({}), connect: async () => ({}), on: () => pg, removeListener: () => pg }
const pgPool = { ...pg, totalCount: 0, idleCount: 0, waitingCount: 0, options: { max: 4 }, end: work }
const mysqlPool = {
  query: work,
  execute: work,
  getConnection: work,
  config: {},
  on: work,
  off: work,
  end: work,
}
const ioredis = {
  options: {},
  status: 'ready',
  call: work,
  callBuffer: work,
  duplicate: work,
  on: work,
  off: work,
  once: work,
  disconnect: work,
  defineCommand: work,
  sendCommand: work,
}
const nodes = [memoryStore(), memoryStore(), memoryStore()]
const guards = [postgresFence(), mysqlFence(), sqliteFence(), redisFence()]
const ask = { key: 'k', scope: 'global' }

type Take = (options: never) => unknown

const TAKERS: Record<string, Take> = {
  createHoldfast,
  memoryStore: (options) => memoryStore(options),
  sqliteStore: (options) => sqliteStore(database, options),
  redisStore: (options) => redisStore(ioredis as never, options),
  postgresStore: (options) => postgresStore(pgPool as never, options),
  mysqlStore: (options) => mysqlStore(mysqlPool, options),
  quorumStore: (options) => quorumStore(nodes, options),
  'postgresStore.migrate': (options) => postgresStore(pgPool as never).migrate(options),
  'mysqlStore.migrate': (options) => mysqlStore(mysqlPool).migrate(options),
  postgresSchema,
  mysqlSchema,
  'session lock': (options) => new SessionLock('report', options, {} as never),
  'session lock: acquire': (options) => session.acquire(options),
  'session lock: tryAcquire': (options) => session.tryAcquire(options),
  'session lock: run': (options) => session.run(work, options),
  'hf.lock': (options) => hf.lock('order', options),
  'hf.lockAll': (options) => hf.lockAll(['order'], options),
  'hf.limiter': (options) => hf.limiter('x', fixedWindow({ limit: 1, per: 1_000 }), options),
  'hf.idempotency': (options) => hf.idempotency('x', options),
  'hf.inspect': (options) => hf.inspect('order', options),
  'hf.forceRelease': (options) => hf.forceRelease('order', options),
  'hf.close': (options) => hf.close(options),
  'lock.acquire': (options) => lock.acquire(options),
  'lock.tryAcquire': (options) => lock.tryAcquire(options),
  'lock.run': (options) => lock.run(work, options),
  'lock.tryRun': (options) => lock.tryRun(work, options),
  'lockAll.acquire': (options) => hf.lockAll(['order']).acquire(options),
  'lockAll.tryAcquire': (options) => hf.lockAll(['order']).tryAcquire(options),
  'lockAll.run': (options) => hf.lockAll(['order']).run(work, options),
  'lockAll.tryRun': (options) => hf.lockAll(['order']).tryRun(work, options),
  'limiter.take': (options) => limiter.take('user', options),
  'limiter.peek': (options) => limiter.peek('user', options),
  'limiter.waitFor': (options) => limiter.waitFor('user', options),
  'limiter.reserve': (options) => limiter.reserve('user', options),
  'limiter.run': (options) => limiter.run('user', work, options),
  'idempotency.run': (options) => once.run(ask, options, work),
  'idempotency.settle': (options) => once.settle(ask, options),
  'idempotency.inspect': (options) => once.inspect(options),
  backoff,
  fixedWindow,
  slidingWindow,
  slidingCounter,
  tokenBucket,
  leakyBucket,
  concurrency,
  postgresFence,
  mysqlFence,
  sqliteFence,
  redisFence,
  'http: rateLimit': (options) => http.rateLimit(limiter, options),
  'http: idempotent': (options) => http.idempotent(once, options),
  clientAddress: http.clientAddress,
  fenceCheck: http.fenceCheck,
  'redis guard: write': (options) => redisFence().write({} as never, 'r', 'v', 1n, options),
  'redis guard: remove': (options) => redisFence().remove({} as never, 'r', 1n, options),
  VirtualClock: (options) => new VirtualClock(options),
  checkHistory: (options) => checkHistory([], options),
  HistoryRecorder: (options) => new HistoryRecorder(options),
  'recorder.watchProcess': (options) =>
    new HistoryRecorder({ process: 'p', log: new MemoryHistory() }).watchProcess(options),
  lockStoreContract,
  limitStoreContract,
  onceStoreContract,
}
for (const guard of guards) {
  const { name } = guard.constructor
  TAKERS[`${name}: check`] = (options) => guard.check({} as never, 'r', 1n, options)
  TAKERS[`${name}: raise`] = (options) => guard.raise({} as never, 'r', 1n, options)
  if ('column' in guard) TAKERS[`${name}: column`] = (options) => guard.column(1n, options)
}
interface Shell {
  rateLimit(limiter: unknown, options: unknown): unknown
  idempotent(idempotency: unknown, options: unknown): unknown
  requireFence(options: unknown): unknown
}
for (const [name, given] of Object.entries({ express, fastify, hono, koa })) {
  const shell = given as unknown as Shell
  TAKERS[`${name}: rateLimit`] = (options) => shell.rateLimit(limiter, options)
  TAKERS[`${name}: idempotent`] = (options) => shell.idempotent(once, options)
  TAKERS[`${name}: requireFence`] = (options) => shell.requireFence(options)
}

const WRONG: [string, unknown][] = [
  ['an option that does not exist', { noSuchThing: 1 }],
  ['null', null],
  ['a text', '30s'],
  ['a number', 30],
  ['a list', [1]],
  ['a function', work],
  ['a signal', AbortSignal.abort()],
]

describe.each(Object.entries(TAKERS))('%s', (_name, take) => {
  test.each(WRONG)('refuses %s', async (_what, options) => {
    const call = async (): Promise<unknown> => take(options as never)
    await expect(call()).rejects.toBeInstanceOf(InvalidArgumentError)
  })
})

test('raising is no write that could be had once', async () => {
  for (const guard of guards) {
    const call = async (): Promise<void> => guard.raise({} as never, 'r', 1n, { once: true } as never)
    await expect(call()).rejects.toMatchObject({ details: { option: 'raise.once' } })
  }
})

test('where there are no options it is said', () => {
  expect(() => memoryStore({ size: 3 } as never)).toThrow('Leave it out: there are no options.')
  expect(() => memoryStore(undefined as never)).not.toThrow()
})

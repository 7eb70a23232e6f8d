import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, test } from 'vitest'
import { freePort, startProcess, startRedis, waitFor } from '../../src/index.ts'
import type { OwnedProcess, RedisServer } from '../../src/index.ts'
import type { DemoResult } from '../../src/demo/demo.ts'

/**
 * Goal: the demo does what it says on either store, with real processes, and leaves nothing behind.
 * Method: it is run as a user runs it, but for the script that installs what is missing.
 */

const MAIN = fileURLToPath(new URL('../../src/demo/main.ts', import.meta.url))
const LOADER = new URL('../../../../build/register.mjs', import.meta.url).href
const WHOLE_RUN = 120_000

let server: RedisServer | undefined
let demo: OwnedProcess | undefined
const owned: string[] = []

afterEach(async () => {
  await demo?.end()
  await server?.stop()
  for (const folder of owned.splice(0)) rmSync(folder, { recursive: true, force: true })
  demo = undefined
  server = undefined
})

/** A temporary folder for one demo, in which nobody else puts anything. */
function ownFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-test-'))
  owned.push(folder)
  return folder
}

async function start(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<OwnedProcess> {
  const all = { ...process.env, HOLDFAST_REDIS_URL: '', NODE_OPTIONS: '', ...env }
  demo = await startProcess(process.execPath, ['--import', LOADER, MAIN, ...args], { env: all })
  return demo
}

async function run(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const started = await start(args, env)
  const { code } = await started.exited
  return { code, stdout: started.stdout, stderr: started.stderr }
}

const whole: unknown = expect.toSatisfy(
  (value) => Number.isInteger(value) && (value as number) >= 0,
  'a whole number',
)

function expectLocks(stdout: string, store: 'redis' | 'sqlite'): void {
  expect(stdout.endsWith('}\n')).toBe(true)
  const { coupons: sold, payment, ...rest } = JSON.parse(stdout) as DemoResult
  const coupons = ['none', 'local-mutex', 'setnx-del', 'get-then-del', 'holdfast', 'atomic-sql']
  const payments = ['bare-del', 'holdfast', 'holdfast-full']
  expect(rest).toMatchObject({ store })
  expect({ coupons: sold, payment }).toEqual({
    coupons: { variants: coupons.map((name) => ({ name, sold: whole, oversold: whole, ms: whole })) },
    payment: { variants: payments.map((name) => ({ name, charges: whole, staleWritesRefused: whole })) },
  })
  const sales = sold?.variants ?? []
  for (const { sold, oversold } of sales) expect(oversold).toBe(Math.max(0, sold - 100))
  expect(sales.find(({ name }) => name === 'holdfast')).toMatchObject({ oversold: 0 })
  expect(sales.find(({ name }) => name === 'atomic-sql')).toMatchObject({ sold: 100 })
  expect(payment?.variants.find(({ name }) => name === 'holdfast-full')).toMatchObject({ charges: 1 })
}

function expectLimits({ limit }: DemoResult, store: 'redis' | 'sqlite'): void {
  const skewed = store === 'redis' ? ['callers-clocks'] : []
  const names = ['incr-expire', 'get-then-set', ...skewed, 'holdfast']
  const counts = { admitted: whole, mostInAnyMinute: whole }
  expect(limit).toEqual({
    variants: names.map((name) => ({ name, ...counts, admittedLater: whole, unanswered: whole })),
    doubleBurst: ['fixedWindow', 'slidingWindow'].map((name) => ({ name, ...counts })),
  })
  const variant = (name: string) => limit?.variants.find((each) => each.name === name)
  // Its process dies between two commands on purpose. How many the others let pass is a matter of chance.
  expect(variant('incr-expire')).toMatchObject({ admitted: 99, admittedLater: 0 })
  expect(variant('holdfast')?.mostInAnyMinute).toBeLessThanOrEqual(100)
  expect(variant('holdfast')?.admitted).toBeGreaterThanOrEqual(100)
  expect(variant('holdfast')?.admittedLater).toBe(10)
}

function expectFailover({ failover }: DemoResult): void {
  const variants = failover?.variants ?? []
  expect(variants.map(({ name }) => name)).toEqual(['plain', 'acknowledged', 'quorum', 'fenced'])
  for (const { name, grantedTwice, staleWrites } of variants) {
    expect(staleWrites).toBe(0)
    if (name === 'acknowledged' || name === 'quorum') expect(grantedTwice).toBe(false)
  }
}

describe('npm run demo', () => {
  test(
    'on a Redis of somebody else: keeps to its prefix, takes all of it away, and may do nothing else there',
    { timeout: WHOLE_RUN },
    async () => {
      const may = '~holdfast-lab-* &holdfast-lab-* +@all -@admin -@dangerous +info'
      server = await startRedis({ config: { user: `guest on >secret ${may}` } })
      await server.command('SET', 'theirs', '1')
      const own = ownFolder()
      const url = `redis://guest:secret@${server.host}:${server.port}`
      const { code, stdout, stderr } = await run(['--json'], { HOLDFAST_REDIS_URL: url, TMPDIR: own })
      expectLocks(stdout, 'redis')
      expectLimits(JSON.parse(stdout) as DemoResult, 'redis')
      expectFailover(JSON.parse(stdout) as DemoResult)
      expect(code).toBe(0)
      expect(stderr).toContain('the one of HOLDFAST_REDIS_URL')
      expect(await server.command('KEYS', '*')).toEqual(['theirs'])
      expect(readdirSync(own)).toEqual([])
    },
  )

  test(
    'without a Redis to be had: goes on in SQLite, and says so aloud',
    { timeout: WHOLE_RUN },
    async () => {
      const own = ownFolder()
      const url = `redis://127.0.0.1:${await freePort()}`
      const { code, stdout, stderr } = await run(['coupons', 'payment', '--json'], {
        HOLDFAST_REDIS_URL: url,
        TMPDIR: own,
      })
      expectLocks(stdout, 'sqlite')
      expect(JSON.parse(stdout)).not.toHaveProperty('limit')
      expect(code).toBe(0)
      expect(stderr).toMatch(/^No Redis can be had \(HOLDFAST_REDIS_URL: .*ECONNREFUSED.*SQLite instead/)
      expect(stderr).toContain('what happened in this run')
      expect(readdirSync(own)).toEqual([])
    },
  )

  test('only what was named is shown', { timeout: WHOLE_RUN }, async () => {
    const { code, stdout, stderr } = await run(['limit', '--store', 'sqlite', '--json'])
    expect(Object.keys(JSON.parse(stdout) as DemoResult)).toEqual(['store', 'limit'])
    expectLimits(JSON.parse(stdout) as DemoResult, 'sqlite')
    expect(code).toBe(0)
    expect(stderr).toContain('An accident, on real processes')
    expect(stderr).toContain("double burst at a window's edge")
    expect(stderr).not.toContain('coupon')
  })

  test('the failover alone, and no server without redis-server', { timeout: WHOLE_RUN }, async () => {
    const own = ownFolder()
    const { code, stdout, stderr } = await run(['failover', '--json'], { TMPDIR: own })
    expectFailover(JSON.parse(stdout) as DemoResult)
    expect(code).toBe(0)
    expect(stderr).toContain('P1 is granted the lock')
    expect(readdirSync(own)).toEqual([])
    const none = await run(['failover'], { PATH: '/nowhere' })
    expect(none.code).toBe(2)
    expect(none.stderr).toMatch(/redis-server/)
  })

  test('with a Redis asked for and none to be had: exit 2, and nothing on stdout', async () => {
    const url = `redis://127.0.0.1:${await freePort()}`
    const given = await run(['--json', '--store', 'redis'], { HOLDFAST_REDIS_URL: url })
    expect(given).toMatchObject({ code: 2, stdout: '' })
    expect(given.stderr).toMatch(/^No Redis can be had: HOLDFAST_REDIS_URL: .*ECONNREFUSED/)
    const own = await run(['--json', '--store=redis'], { PATH: '/nowhere' })
    expect(own).toMatchObject({ code: 2, stdout: '' })
    expect(own.stderr).toMatch(/^No Redis can be had: .*redis-server/)
  })

  test('an unknown argument: exit 2, says what is wrong and what there is', async () => {
    const { code, stdout, stderr } = await run(['--json', '--jsn'])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr.startsWith('unknown argument "--jsn"\n\nnpm run demo')).toBe(true)
  })

  test('Ctrl-C in the middle: keys, processes and folders are gone, and the status is kept', async () => {
    server = await startRedis()
    const own = ownFolder()
    const running = await start(['--store', 'redis'], { HOLDFAST_REDIS_URL: server.url, TMPDIR: own })
    const clients = async () => (await server?.command('CLIENT', 'LIST')) as string
    await waitFor(() => running.stderr.includes('setnx-del'), { what: 'a variant with keys', within: 30_000 })
    await waitFor(async () => (await clients()).split('\n').length > 4, { what: 'workers at work' })
    running.signal('SIGINT')
    expect(await running.exited).toEqual({ code: 130, signal: null })
    expect(running.stderr).not.toContain('Error')
    expect(await server.command('KEYS', '*')).toEqual([])
    await waitFor(async () => (await clients()).trim().split('\n').length === 1, { what: 'workers to go' })
    await waitFor(() => readdirSync(own).length === 0, { what: 'folders to go' })
  })

  test('kill -9 in the middle: its own server goes too', async () => {
    const own = ownFolder()
    const running = await start(['--store', 'redis'], { TMPDIR: own })
    await waitFor(() => running.stderr.includes('none'), { what: 'the first variant', within: 30_000 })
    const servers = readdirSync(own).filter((name) => name.startsWith('holdfast-redis'))
    expect(servers).toHaveLength(1)
    process.kill(running.pid, 'SIGKILL')
    await waitFor(() => !existsSync(join(own, String(servers[0]))), { what: 'its folder to go' })
  })
})

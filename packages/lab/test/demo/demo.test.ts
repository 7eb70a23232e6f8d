import { existsSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
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

afterEach(async () => {
  await demo?.end()
  await server?.stop()
  demo = undefined
  server = undefined
})

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

function expectResult(stdout: string, store: 'redis' | 'sqlite'): DemoResult {
  expect(stdout.endsWith('}\n')).toBe(true)
  const result = JSON.parse(stdout) as DemoResult
  const coupons = ['none', 'local-mutex', 'setnx-del', 'get-then-del', 'holdfast', 'atomic-sql']
  const payments = ['bare-del', 'holdfast', 'holdfast-full']
  expect(result).toEqual({
    store,
    coupons: { variants: coupons.map((name) => ({ name, sold: whole, oversold: whole, ms: whole })) },
    payment: { variants: payments.map((name) => ({ name, charges: whole, staleWritesRefused: whole })) },
  })
  for (const { sold, oversold } of result.coupons.variants) expect(oversold).toBe(Math.max(0, sold - 100))
  expect(result.coupons.variants.find(({ name }) => name === 'holdfast')).toMatchObject({ oversold: 0 })
  expect(result.coupons.variants.find(({ name }) => name === 'atomic-sql')).toMatchObject({ sold: 100 })
  expect(result.payment.variants.find(({ name }) => name === 'holdfast-full')).toMatchObject({ charges: 1 })
  return result
}

/** Folders of the demo that lie there now. */
const folders = () => readdirSync(tmpdir()).filter((name) => name.startsWith('holdfast-demo'))

describe('npm run demo', () => {
  test(
    'on a Redis of somebody else: keeps to its prefix, takes all of it away, and may do nothing else there',
    { timeout: WHOLE_RUN },
    async () => {
      const may = '~holdfast-lab-* &holdfast-lab-* +@all -@admin -@dangerous +info'
      server = await startRedis({ config: { user: `guest on >secret ${may}` } })
      await server.command('SET', 'theirs', '1')
      const before = folders()
      const url = `redis://guest:secret@${server.host}:${server.port}`
      const { code, stdout, stderr } = await run(['--json'], { HOLDFAST_REDIS_URL: url })
      expectResult(stdout, 'redis')
      expect(code).toBe(0)
      expect(stderr).toContain('the one of HOLDFAST_REDIS_URL')
      expect(await server.command('KEYS', '*')).toEqual(['theirs'])
      expect(folders()).toEqual(before)
    },
  )

  test(
    'without a Redis to be had: goes on in SQLite, and says so aloud',
    { timeout: WHOLE_RUN },
    async () => {
      const before = folders()
      const url = `redis://127.0.0.1:${await freePort()}`
      const { code, stdout, stderr } = await run(['--json'], { HOLDFAST_REDIS_URL: url })
      expectResult(stdout, 'sqlite')
      expect(code).toBe(0)
      expect(stderr).toMatch(/^No Redis can be had \(HOLDFAST_REDIS_URL: .*ECONNREFUSED.*SQLite instead/)
      expect(stderr).toContain('what happened in this run')
      expect(folders()).toEqual(before)
    },
  )

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
    const before = folders()
    const running = await start(['--store', 'redis'], { HOLDFAST_REDIS_URL: server.url })
    const clients = async () => (await server?.command('CLIENT', 'LIST')) as string
    await waitFor(() => running.stderr.includes('setnx-del'), { what: 'a variant with keys', within: 30_000 })
    await waitFor(async () => (await clients()).split('\n').length > 4, { what: 'workers at work' })
    running.signal('SIGINT')
    expect(await running.exited).toEqual({ code: 130, signal: null })
    expect(running.stderr).not.toContain('Error')
    expect(await server.command('KEYS', '*')).toEqual([])
    await waitFor(async () => (await clients()).trim().split('\n').length === 1, { what: 'workers to go' })
    await waitFor(() => folders().every((folder) => before.includes(folder)), { what: 'folders to go' })
  })

  test('kill -9 in the middle: its own server goes too', async () => {
    const before = readdirSync(tmpdir()).filter((name) => name.startsWith('holdfast-redis'))
    const running = await start(['--store', 'redis'])
    await waitFor(() => running.stderr.includes('none'), { what: 'the first variant', within: 30_000 })
    const servers = readdirSync(tmpdir()).filter(
      (name) => name.startsWith('holdfast-redis') && !before.includes(name),
    )
    expect(servers).toHaveLength(1)
    process.kill(running.pid, 'SIGKILL')
    await waitFor(() => !existsSync(`${tmpdir()}/${servers[0]}`), { what: 'its folder to go' })
  })
})

import { StoreRefusedError } from 'holdfast'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import acquire from '../../../holdfast/src/stores/redis/lua/acquire.lua'
import force from '../../../holdfast/src/stores/redis/lua/force.lua'
import inspect from '../../../holdfast/src/stores/redis/lua/inspect.lua'
import leave from '../../../holdfast/src/stores/redis/lua/leave.lua'
import release from '../../../holdfast/src/stores/redis/lua/release.lua'
import renew from '../../../holdfast/src/stores/redis/lua/renew.lua'
import { sleep, startRedis, waitFor, type RedisServer } from '../../src/index.ts'
import { Scene } from '../support/scene.ts'

/**
 * Goal: a script touches the keys that its call declares, and no others; so it works in one slot of a cluster, and under an
 * ACL that allows just these.
 * Method: every path of every script runs as a user who may touch exactly the keys of one lock, the last fence and the
 * wake-up channels. The server itself refuses anything else.
 */

const SCRIPTS = { acquire, force, inspect, leave, release, renew }

let server: RedisServer
let scene: Scene

beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())
beforeEach(async () => {
  await server.command('FLUSHALL')
  scene = await Scene.open(server)
})
afterEach(async () => {
  await server.allowEverything()
  await scene.end()
})

/** What the library says a user needs, for the keys given. */
const restrict = (keys: readonly string[], commands: readonly string[] = COMMANDS) =>
  server.command(
    'ACL',
    'SETUSER',
    'default',
    'resetkeys',
    'resetchannels',
    '-@all',
    ...commands,
    ...keys.map((key) => `~${key}`),
    `&${scene.prefix}:wake:*`,
  )

/** The last of them only for the client and for this test. */
const COMMANDS = [
  '+@scripting',
  '+@read',
  '+@write',
  '+time',
  '+publish',
  '+subscribe',
  '+@connection',
  '+info',
]

const keysOf = (name: string) => [`${scene.prefix}:{${name}}:lock`, `${scene.prefix}:{${name}}:queue`]
const fence = () => `${scene.prefix}:fence`

/** The script calls that went over the proxy, with their keys. */
function calls(): { script: string; keys: string[] }[] {
  return scene.proxy.log.flatMap(({ command: [command = '', what = '', count = '0', ...rest] }) => {
    if (!/^EVAL(SHA)?$/i.test(command)) return []
    const found = Object.entries(SCRIPTS).find(([, { sha1, source }]) => what === sha1 || what === source)
    expect(found, 'a script of ours').toBeDefined()
    return [{ script: found?.[0] ?? '', keys: rest.slice(0, Number(count)) }]
  })
}

/** Takes one lock through everything that can happen to it. */
async function everyPath(name: string): Promise<void> {
  const other = await scene.another({ viaProxy: true })
  const lock = scene.hf.lock(name, { ttl: 600 })
  const held = await lock.acquire()
  await held.extend(900)
  expect(await other.lock(name).tryAcquire()).toBeNull()
  // One waits till it is woken, one leaves before.
  const aborted = new AbortController()
  const left = other.lock(name).acquire({ signal: aborted.signal })
  await waitFor(async () => (await scene.hf.inspect(name))?.waiters === 1, { what: 'a waiter' })
  aborted.abort(new Error('enough'))
  await expect(left).rejects.toThrow('enough')
  const waiting = other.lock(name).acquire()
  await waitFor(async () => (await scene.hf.inspect(name))?.waiters === 1, { what: 'a waiter' })
  await sleep(250)
  expect(await held.release()).toEqual({ released: true, confirmed: true })
  // The releaser stands back.
  const again = lock.acquire()
  const second = await waiting
  expect(await scene.hf.forceRelease(name)).toMatchObject({ released: true, holder: second.owner })
  const third = await again
  expect(await scene.hf.forceRelease(name, { owner: second.owner })).toMatchObject({ released: false })
  await third.release()
  expect(await third.release()).toMatchObject({ released: true })
  expect(await scene.hf.inspect(name)).toBeNull()
}

/** What the server refused, also where a script goes on all the same. */
const refused = async () => (await server.command('ACL', 'LOG')) as unknown[]

test('every script does its work with no more than the keys of one lock and the last fence', async () => {
  await restrict([...keysOf('a'), fence()])
  await server.command('ACL', 'LOG', 'RESET')
  await everyPath('a')
  expect(await refused()).toEqual([])
  expect(new Set(calls().map(({ script }) => script))).toEqual(new Set(Object.keys(SCRIPTS)))
})

test('L10: also when the name is a hostile one', async () => {
  const name = '}{a b|%\0\n{}'
  const encoded = '%7D%7Ba%20b%7C%25%00%0A%7B%7D'
  await restrict([...keysOf(encoded), fence()])
  await server.command('ACL', 'LOG', 'RESET')
  await everyPath(name)
  expect(await refused()).toEqual([])
})

test('B9: every key of a call has the tag of its name, or is the last fence of the prefix', async () => {
  await everyPath('a')
  await Promise.all(['b', 'c{', 'd'].map((name) => scene.hf.lock(name).run(() => undefined)))
  const tags = new Set(['a', 'b', 'c%7B', 'd'])
  for (const { script, keys } of calls()) {
    const hasFence = script === 'acquire' || script === 'force'
    expect(keys[0] === fence()).toBe(hasFence)
    for (const key of hasFence ? keys.slice(1) : keys) {
      const tag = /^[^{]*\{([^{}]+)\}:(lock|queue)$/.exec(key)?.[1]
      expect(tags).toContain(tag)
      expect(key.startsWith(`${scene.prefix}:{`)).toBe(true)
    }
  }
  const batch = calls().filter(({ keys }) => keys.length > 3)
  expect(batch.length).toBeGreaterThan(0)
})

test('no script leaves a key without an expiry, whatever path was taken', async () => {
  await everyPath('a')
  const aborted = new AbortController()
  const holder = await scene.hf.lock('b').acquire()
  const other = await scene.another()
  const waiting = other.lock('b').acquire({ signal: aborted.signal })
  await waitFor(async () => (await scene.hf.inspect('b'))?.waiters === 1, { what: 'a waiter' })
  const keys = (await server.command('KEYS', '*')) as string[]
  expect(keys.length).toBeGreaterThanOrEqual(3)
  for (const key of keys) expect([key, await server.command('PTTL', key)]).toEqual([key, expect.any(Number)])
  for (const key of keys) expect((await server.command('PTTL', key)) as number).toBeGreaterThan(0)
  aborted.abort(new Error('enough'))
  await waiting.catch(() => undefined)
  await holder.release()
})

describe('what the ACL must allow', () => {
  test('D12: without scripts a named error says what is needed', async () => {
    await restrict([`${scene.prefix}:*`], ['+@read', '+@write', '+time', '+@connection', '+info'])
    const refusal: unknown = await scene.hf
      .lock('a')
      .acquire()
      .catch((error: unknown) => error)
    expect(refusal).toBeInstanceOf(StoreRefusedError)
    expect(refusal).toMatchObject({ retryable: false, outcome: 'not-done', details: { reason: 'NOPERM' } })
    expect((refusal as Error).message).toContain('+@scripting')
  })

  test('without the last fence nobody is granted', async () => {
    await restrict(keysOf('a'))
    await expect(scene.hf.lock('a').tryAcquire()).rejects.toMatchObject({ code: 'STORE_REFUSED' })
    expect(await scene.keys()).toEqual([])
  })

  test.each(['+set', '+get', '+pttl', '+pexpire', '+zadd', '+publish'])(
    'a command that is missing inside a script (%s) is told by name, or not needed; nothing hangs, nobody has it twice',
    async (missing) => {
      await restrict([...keysOf('a'), fence()], [...COMMANDS, missing.replace('+', '-')])
      const outcome = await scene.hf
        .lock('a', { wait: 0, ttl: 2_000 })
        .run(() => 'ran')
        .catch((error: unknown) => error)
      if (outcome !== 'ran') {
        expect(outcome).toMatchObject({ code: 'STORE_REFUSED', details: { reason: 'NOPERM' } })
      }
    },
  )
})

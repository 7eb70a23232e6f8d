import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { clientFamilies } from '../../src/clients.ts'
import { sleep, startRedis, waitFor, type RedisServer } from '../../src/index.ts'
import { Scene } from '../support/scene.ts'
import { isAcquire, isLeave, isRelease } from '../support/scripts.ts'
import { settle, SLACK_MS } from '../support/settling.ts'

/**
 * Goal: while there is no connection nothing is queued that could run later, when nobody wants it any more.
 * Method: the proxy refuses connections, then accepts them again; it has a record of every command that came.
 */

const WAIT = 300
/** What clients send by themselves. */
const SET_UP = new Set(['HELLO', 'CLIENT', 'INFO', 'SELECT'])

let server: RedisServer
let scene: Scene

beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())
afterEach(() => scene.end())

describe.each(clientFamilies)('%s', (kind) => {
  const isReady = () => {
    const { client } = scene.client
    return 'isReady' in client ? client.isReady : client.status === 'ready'
  }

  async function disconnect(): Promise<void> {
    await scene.proxy.refuse()
    scene.proxy.resetAll()
    await waitFor(() => !isReady(), { what: 'the client to notice' })
    scene.proxy.resetCounts()
  }

  test('fault 31, 32: what was asked for without a connection is not sent when there is one again', async () => {
    scene = await Scene.open(server, { kind })
    await scene.warmUp()
    const { hf, budget } = scene
    await disconnect()
    const calls = [
      { run: () => hf.lock('a').tryAcquire(), bound: budget },
      { run: () => hf.lock('b').acquire({ wait: WAIT }), bound: WAIT + budget },
      { run: () => hf.lock('c').run(() => {}, { wait: WAIT }), bound: WAIT + budget },
    ]
    for (const { run, bound } of calls) {
      const { ms, error } = await settle<unknown>(run())
      expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', outcome: 'not-done', retryable: true })
      expect(ms).toBeLessThan(bound + SLACK_MS)
    }
    await scene.proxy.accept()
    await waitFor(isReady, { what: 'the client to be connected again' })
    await sleep(300)
    // A place in a queue may be given up, to be on the safe side; what was released before is released once more.
    const asked = scene.proxy.log
      .map(({ command: [name = '', ...args] }) => ({ name, args }))
      .filter(
        (command) => !SET_UP.has(command.name.toUpperCase()) && !isLeave(command) && !isRelease(command),
      )
    expect(asked).toEqual([])
    expect(await scene.keys()).toEqual([])
  })

  test('fault 32: an acquire that still waits is sent once there is a connection, and gets the lock', async () => {
    scene = await Scene.open(server, { kind })
    await scene.warmUp()
    await disconnect()
    const call = settle(scene.hf.lock('a').acquire({ wait: '10s' }))
    await sleep(2 * scene.budget)
    await scene.proxy.accept()
    const { value: held, error } = await call
    expect(error).toBeNull()
    expect(await scene.value('a')).toBe(`${held?.owner}#${held?.fence}`)
  })

  test('fault 32: a call aborted while there is no connection is never sent', async () => {
    scene = await Scene.open(server, { kind })
    await scene.warmUp()
    await disconnect()
    const controller = new AbortController()
    const { signal } = controller
    const calls = [
      settle<unknown>(scene.hf.lock('a').acquire({ signal })),
      settle<unknown>(scene.hf.lock('b').tryAcquire({ signal })),
    ]
    controller.abort(new Error('gone'))
    for (const { error } of await Promise.all(calls)) expect(error?.message).toBe('gone')
    await scene.proxy.accept()
    await waitFor(isReady, { what: 'the client to be connected again' })
    await sleep(300)
    expect(scene.proxy.log.filter(({ command: [name = '', ...args] }) => isAcquire({ name, args }))).toEqual(
      [],
    )
    expect(await scene.keys()).toEqual([])
  })
})

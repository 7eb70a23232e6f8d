import { StoreRefusedError, type Held } from 'holdfast'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { faults, sleep, startRedis, waitFor, type RedisServer } from '../../src/index.ts'
import { Scene } from '../support/scene.ts'
import { settle, SLACK_MS } from '../support/settling.ts'

/**
 * Goal: a server that refuses is neither a busy lock nor a lost one. Waiting callers outlast it, holders keep what they hold
 * until their deadline, and who gives up is told what the server said and how to mend it.
 * Method: each refusal that a single server can have, brought about for real. (Those of a cluster: fake-refusals.test.ts.)
 */

type Undo = () => Promise<void>

interface Refusal {
  readonly code: string
  /** Its number in the list of faults. */
  readonly fault: number
  readonly cause: (server: RedisServer) => Promise<Undo>
  /** What the remedy speaks of. */
  readonly remedy: RegExp
  /** Whether it refuses to prolong and to delete, too. */
  readonly refusesAll: boolean
}

const REFUSALS: readonly Refusal[] = [
  { code: 'READONLY', fault: 24, cause: faults.readOnly, remedy: /primary/, refusesAll: true },
  { code: 'MASTERDOWN', fault: 24, cause: faults.masterDown, remedy: /primary/, refusesAll: true },
  { code: 'BUSY', fault: 22, cause: faults.busy, remedy: /SCRIPT KILL/, refusesAll: true },
  { code: 'MISCONF', fault: 21, cause: faults.misconf, remedy: /disk/, refusesAll: true },
  { code: 'OOM', fault: 20, cause: faults.oom, remedy: /maxmemory/, refusesAll: false },
  {
    code: 'NOREPLICAS',
    fault: 25,
    cause: faults.noReplicas,
    remedy: /min-replicas-to-write/,
    refusesAll: true,
  },
  // A restart: it ends the connections as well. ioredis keeps such a server from us until it has loaded.
  { code: 'LOADING', fault: 23, cause: faults.loading, remedy: /loading|reading its data/, refusesAll: true },
]

const WAIT = 400
/** Longer than any of the faults lasts here. */
const TTL = 8_000

let server: RedisServer
let scene: Scene
let undo: Undo | null = null

beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())
beforeEach(() => {
  undo = null
})
afterEach(async () => {
  await undo?.()
  await scene.end()
})

async function refuse(refusal: Refusal): Promise<void> {
  undo = await refusal.cause(server)
}

async function serve(): Promise<void> {
  await undo?.()
  undo = null
}

describe.each(REFUSALS.map((refusal) => [refusal.fault, refusal.code, refusal] as const))(
  '%i, D13: %s',
  (_, code, refusal) => {
    const { remedy, refusesAll } = refusal

    test('at the end of the wait: StoreRefusedError says what the server said and how to mend it', async () => {
      scene = await Scene.open(server, { kind: 'redis' })
      await scene.warmUp()
      await refuse(refusal)
      const calls = [
        { run: () => scene.hf.lock('a').acquire({ wait: WAIT }), bound: WAIT + scene.budget },
        { run: () => scene.hf.lock('b').tryAcquire(), bound: scene.budget },
        { run: () => scene.hf.lock('c').run(() => {}, { wait: WAIT }), bound: WAIT + scene.budget },
      ]
      const all = calls.map(async ({ run, bound }) => {
        const { ms, error } = await settle<unknown>(run())
        expect(error).toBeInstanceOf(StoreRefusedError)
        expect(error).toMatchObject({ retryable: true, details: { reason: code } })
        expect(error?.message).toMatch(new RegExp(`the server said ".*${code} `))
        expect(error?.message).toMatch(remedy)
        expect(ms).toBeLessThan(bound + SLACK_MS)
      })
      await Promise.all(all)
      await serve()
      expect(await scene.keys()).toEqual([])
    })

    test('heals within the wait: the acquire goes on and gets the lock', async () => {
      scene = await Scene.open(server, { kind: 'redis' })
      await scene.warmUp()
      await refuse(refusal)
      const call = settle(scene.hf.lock('a', { ttl: TTL }).acquire({ wait: '20s' }))
      // Beyond a budget: it gave up once at least, and asked anew.
      await sleep(2 * scene.budget)
      await serve()
      const { value: held, error } = await call
      expect(error).toBeNull()
      expect(held?.lost).toBeNull()
      expect(await scene.value('a')).toBe(`${held?.owner}#${held?.fence}`)
      expect(await held?.release()).toMatchObject({ released: true })
      expect(await scene.keys()).toEqual([])
    })

    test('a held lock is not lost by it, and can be given back afterwards', async () => {
      scene = await Scene.open(server, { kind: 'redis' })
      await scene.warmUp()
      const held = await scene.hf.lock('held', { ttl: TTL }).acquire()
      const prolonged = await scene.hf.lock('prolonged', { ttl: TTL }).acquire()
      await refuse(refusal)
      const extended = await settle(prolonged.extend(2 * TTL))
      const released = await settle(held.release())
      if (refusesAll) {
        // Refused, with the lock as it was before; a repeat works on.
        expect(extended.error).toMatchObject({ code: 'STORE_REFUSED', details: { reason: code } })
        expect(released.error).toMatchObject({ code: 'STORE_REFUSED', details: { reason: code } })
        expect(prolonged.remaining()).toBeLessThan(TTL)
      } else {
        expect(extended.error).toBeNull()
        expect(released.value).toEqual({ released: true, confirmed: true })
      }
      expect(prolonged.lost).toBeNull()
      expect(prolonged.signal.aborted).toBe(false)
      await serve()
      expect(prolonged.lost).toBeNull()
      await prolonged.extend(2 * TTL)
      expect(await scene.owner('prolonged')).toBe(prolonged.owner)
      expect(await prolonged.release()).toMatchObject({ released: true })
      if (refusesAll) expect(await held.release()).toMatchObject({ released: true })
      expect(await scene.keys()).toEqual([])
    })
  },
)

const OF_A_RUNNING_SERVER = REFUSALS.filter(({ code }) => code !== 'LOADING').map(
  (each) => [each.code, each] as const,
)

describe.each(OF_A_RUNNING_SERVER)('D13: renewals refused with %s', (_, refusal) => {
  const SHORT = 1_200

  /** Looks at a lock all the while; when it was lost, in milliseconds from now. */
  async function lostAfter(held: Held, within: number): Promise<number> {
    const began = performance.now()
    const bound = began + within
    while (held.lost === null && performance.now() < bound) await sleep(5)
    return performance.now() - began
  }

  test('for less than the lease: still held; for longer: lost at the deadline, not before', async () => {
    scene = await Scene.open(server)
    const { hf } = scene
    await scene.warmUp()
    const held = await hf.lock('a', { ttl: SHORT }).acquire()
    await refuse(refusal)
    await sleep(SHORT / 2)
    await serve()
    await sleep(SHORT)
    expect(held.lost).toBeNull()
    await held.extend(SHORT)

    await refuse(refusal)
    const remaining = held.remaining()
    if (!refusal.refusesAll) {
      // PEXPIRE needs no memory: nothing happens at all.
      await sleep(2 * SHORT)
      expect(held.lost).toBeNull()
      return
    }
    const after = await lostAfter(held, 10 * SHORT)
    expect(held.lost).toBe('expired')
    expect(after).toBeGreaterThan(remaining - 20)
    expect(after).toBeLessThan(remaining + SHORT / 3 + SLACK_MS)
  })
})

/** The one is an error inside the script's reply, the other refuses the script. */
const REFUSE_A_COPY = [
  ['READONLY', faults.readOnly],
  ['MASTERDOWN', faults.masterDown],
] as const

test.each(REFUSE_A_COPY)(
  'D13: the reply to an acquire is lost, and the copy that the client sends again is refused (%s): not "not done"',
  async (code, cause) => {
    // It reconnects only after the server has begun to refuse.
    scene = await Scene.open(server, { kind: 'ioredis', reconnectAfter: 500, budget: 3_000 })
    await scene.warmUp()
    const lost = scene.proxy.loseReplyOf('EVALSHA')
    const call = settle(scene.hf.lock('a', { ttl: '30s' }).tryAcquire())
    await waitFor(async () => (await scene.value('a')) !== null, { what: 'the grant', every: 1 })
    await lost.done
    undo = await cause(server)
    const { error } = await call
    expect(error).toMatchObject({ code: 'STORE_REFUSED', outcome: 'unknown', details: { reason: code } })
    await serve()
    await waitFor(async () => (await scene.value('a')) === null, { what: 'the key to be cleared away' })
  },
)

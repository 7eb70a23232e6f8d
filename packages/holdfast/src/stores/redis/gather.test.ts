import { beforeEach, describe, expect, test } from 'vitest'
import { Attempt } from '../../store/attempt.ts'
import type { Answer } from '../../store/contract.ts'
import type { StoreFailure } from '../../store/failure.ts'
import { ServerClock } from '../../store/server-clock.ts'
import { VirtualClock } from '../../testing/virtual-clock.ts'
import type { CallItem, CallKind } from './call-kind.ts'
import { Gatherer } from './gather.ts'
import type { RedisPort } from './port.ts'

/**
 * Goal: operations travel together, and each of them ends by itself.
 * Method: a port of which the test plays every reply.
 */

/** One command as the port was given it. */
interface Sent {
  readonly command: readonly string[]
  reply(reply: unknown): void
  /** With whatever id stands in it. */
  replyRaw(reply: unknown): void
  fail(error: unknown): void
}

const SERVER_MS = 1_700_000_000_000
const TIME_REPLY = [String(SERVER_MS / 1_000), '0']

let clock: VirtualClock
let sent: Sent[]
let waits: number[]
let connected: boolean
let connection: number
let distrusted: number
let connect: () => void
let gatherer: Gatherer
let serverClock: ServerClock

beforeEach(() => {
  clock = new VirtualClock({ monotonic: 0 })
  sent = []
  waits = []
  connected = true
  distrusted = 0
  connection = 0
  const waiting: (() => void)[] = []
  connect = () => {
    connected = true
    connection += 1
    for (const proceed of waiting.splice(0)) proceed()
  }
  const port: Partial<RedisPort> = {
    client: 'ioredis',
    get ready() {
      return connected
    },
    get connection() {
      return connection
    },
    whenReady(until) {
      waits.push(until)
      return connected ? Promise.resolve() : new Promise<void>((resolve) => waiting.push(resolve))
    },
    send(whole) {
      const { id, command } = withoutId(whole)
      return new Promise<unknown>((resolve, reject) => {
        sent.push({
          command,
          reply: (reply) => resolve(id === undefined ? reply : withId(reply, id)),
          replyRaw: resolve,
          fail: reject,
        })
      })
    },
    distrust: () => (distrusted += 1),
  }
  serverClock = new ServerClock(clock)
  gatherer = new Gatherer(port as RedisPort, 'process', clock, serverClock)
})

/** A script call, and the id that its reply must repeat. */
function withoutId(command: readonly string[]): { id?: string | undefined; command: readonly string[] } {
  if (command[0] === 'TIME') return { command }
  const at = 3 + Number(command[2])
  return { id: command[at], command: command.filter((_, i) => i !== at) }
}

function withId(reply: unknown, id: string): unknown {
  return Array.isArray(reply) ? [reply[0], id, ...(reply.slice(1) as unknown[])] : reply
}

const kindOf = (name: string, order: number, group = '', expires?: 'by-call'): CallKind => ({
  script: { name, source: `source of ${name}`, sha1: `sha of ${name}` },
  keys: group === '' ? [] : [`${group}:fence`],
  args: ['shared'],
  order,
  ...(expires === undefined ? {} : { expires }),
  whole:
    ([, , , first]) =>
    (index) => [`whole ${String(first)} ${index}`],
})
const release = kindOf('release', 0)
const renew = kindOf('renew', 1, '', 'by-call')
const acquire = kindOf('acquire', 2, 'p', 'by-call')

interface Ended {
  readonly attempt: Attempt
  answer: Answer<readonly string[]> | null
  failure: StoreFailure | null
}

function add(kind: CallKind, name: string, { budget = 1_000 } = {}): Ended {
  const attempt = new Attempt(clock.monotonic() + budget, clock.monotonic() + budget)
  const ended: Ended = { attempt, answer: null, failure: null }
  const item: CallItem = {
    keys: [`{${name}}:lock`],
    attempt,
    write: (args, later) => void args.push(later === 0 ? name : `${name}+${later}`),
    read: (words) => words,
    settle: (result, serverTime, maybeTwice) =>
      (ended.answer = { result: result as readonly string[], serverTime, maybeTwice }),
    fail: (failure) => (ended.failure = failure as StoreFailure),
  }
  gatherer.add(kind, item)
  return ended
}

const nth = (n: number): Sent => sent[n - 1] as Sent
const names = () => sent.map(({ command }) => command[1])
/** What a script answers for so many items. */
const answers = (...items: readonly string[][]) => [String(SERVER_MS), ...items]
/** Lets the first call be under way, so that what comes is gathered. */
async function busy(): Promise<Ended> {
  const first = add(release, 'first')
  await clock.settle()
  sent.shift()
  return first
}

describe('a call', () => {
  test('of a lone operation goes at once, as EVALSHA with its keys and arguments', async () => {
    const ended = add(release, 'a')
    expect(sent).toHaveLength(1)
    expect(nth(1).command).toEqual(['EVALSHA', 'sha of release', '1', '{a}:lock', 'shared', 'a'])
    clock.blockFor(20)
    nth(1).reply(answers(['released', '1']))
    await clock.settle()
    expect(ended.answer).toEqual({ result: ['released', '1'], serverTime: SERVER_MS, maybeTwice: false })
    expect(ended.attempt).toMatchObject({ sent: { monotonic: 0 }, notAfter: null })
  })

  test('takes along all of its kind of the same turn', async () => {
    await busy()
    const all = ['a', 'b', 'c'].map((name) => add(release, name))
    expect(sent).toEqual([])
    await clock.settle()
    expect(nth(1).command).toEqual([
      'EVALSHA',
      'sha of release',
      '3',
      '{a}:lock',
      '{b}:lock',
      '{c}:lock',
      'shared',
      ...['a', 'b', 'c'],
    ])
    nth(1).reply(answers(['released', '0'], ['missing'], ['other', 'x', '5']))
    await clock.settle()
    expect(all.map(({ answer }) => answer?.result)).toEqual([
      ['released', '0'],
      ['missing'],
      ['other', 'x', '5'],
    ])
  })

  test('does not wait for the answer to an earlier one', async () => {
    await busy()
    add(release, 'a')
    await clock.settle()
    add(release, 'b')
    await clock.settle()
    expect(sent).toHaveLength(2)
  })

  test('goes in an order in which an acquire never overtakes the release of its name', async () => {
    serverClock.saw(SERVER_MS)
    await busy()
    add(acquire, 'a')
    add(renew, 'b')
    add(release, 'a')
    await clock.settle()
    expect(names()).toEqual(['sha of release', 'sha of renew', 'sha of acquire'])
  })

  test('is apart for each group: two prefixes have two last fences', async () => {
    serverClock.saw(SERVER_MS)
    await busy()
    add(acquire, 'a')
    add(kindOf('acquire', 2, 'old', 'by-call'), 'a')
    await clock.settle()
    expect(sent.map(({ command }) => command.slice(2, 4))).toEqual([
      ['2', 'p:fence'],
      ['2', 'old:fence'],
    ])
  })

  test('is split, so that the server works on one while the reply to another is read', async () => {
    await busy()
    for (let n = 0; n < 64; n += 1) add(release, `n${n}`)
    await clock.settle()
    expect(sent.map(({ command }) => command[2])).toEqual(['32', '32'])
  })

  test('of few is split while no other is in flight: they follow each other to the server', async () => {
    const addAll = (letter: string) => Array.from({ length: 9 }, (_, n) => add(release, `${letter}${n}`))
    const lengths = () => sent.map(({ command }) => Number(command[2]))
    const reply = (n: number) =>
      nth(n).reply(answers(...Array.from({ length: lengths()[n - 1] ?? 0 }, () => ['missing'])))
    addAll('a')
    await clock.settle()
    expect(lengths()).toEqual([1, 8])
    reply(1)
    reply(2)
    await Promise.resolve()
    addAll('b')
    await clock.settle()
    expect(lengths().slice(2)).toEqual([5, 4])
    reply(3)
    await Promise.resolve()
    addAll('c')
    await clock.settle()
    expect(lengths().slice(4)).toEqual([9])
  })

  test('holds at most 128 items', async () => {
    await busy()
    const all = Array.from({ length: 600 }, (_, n) => add(release, `n${n}`))
    await clock.settle()
    expect(sent.map(({ command }) => command[2])).toEqual(['128', '128', '128', '128', '88'])
    for (const { command, reply } of sent) {
      const items = command.filter((word) => /^n\d+$/.test(word))
      reply(answers(...items.map((name) => [name])))
    }
    await clock.settle()
    expect(all.map(({ answer }) => answer?.result[0])).toEqual(Array.from({ length: 600 }, (_, n) => `n${n}`))
  })

  test('what the answers to many set off travels together again', async () => {
    await busy()
    add(release, 'a')
    add(release, 'b')
    await clock.settle()
    nth(1).reply(answers(['missing'], ['missing']))
    await Promise.resolve()
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve()
    add(release, 'c')
    add(release, 'd')
    await clock.settle()
    expect(sent.map(({ command }) => command[2])).toEqual(['2', '2'])
  })
})

describe('the server’s time', () => {
  test('is read before the first call that grants, and not again while the connection stays', async () => {
    const ended = add(acquire, 'a', { budget: 900 })
    expect(sent.map(({ command }) => command)).toEqual([['TIME']])
    nth(1).reply(TIME_REPLY)
    await clock.settle()
    expect(names()).toEqual([undefined, 'sha of acquire'])
    expect(ended.attempt.notAfter).toBe(SERVER_MS + 900)
    expect(nth(2).command.slice(-2)).toEqual([String(SERVER_MS + 900), 'a'])
    nth(2).reply(answers(['granted', '1']))
    await clock.settle()
    add(acquire, 'b')
    await clock.settle()
    expect(names()).toEqual([undefined, 'sha of acquire', 'sha of acquire'])
  })

  test('goes on with our clock since the last reply', async () => {
    serverClock.saw(SERVER_MS)
    clock.blockFor(5_000)
    const ended = add(acquire, 'a', { budget: 900 })
    expect(ended.attempt.notAfter).toBe(SERVER_MS + 5_900)
  })

  test('is not needed for what carries no time', () => {
    add(release, 'a')
    expect(names()).toEqual(['sha of release'])
  })

  test('is read again when another server may answer, also while a call waits for its connection', async () => {
    serverClock.saw(SERVER_MS)
    connected = false
    const ended = add(acquire, 'a')
    await clock.settle()
    serverClock.forget()
    connect()
    await clock.settle()
    expect(sent.map(({ command }) => command)).toEqual([['TIME']])
    expect(ended.attempt.sent).toBeNull()
    nth(1).reply([String(SERVER_MS / 1_000 - 60), '0'])
    await clock.settle()
    expect(ended.attempt.notAfter).toBe(SERVER_MS - 60_000 + 1_000)
    expect(ended.attempt.sent).not.toBeNull()
  })

  test('the longest budget of its items is the call’s', async () => {
    await busy()
    connected = false
    add(release, 'a', { budget: 100 })
    add(release, 'b', { budget: 5_000 })
    await clock.settle()
    expect(waits.at(-1)).toBe(5_000)
  })

  test('until when the server may act is said once; an item with more time says how much more', async () => {
    serverClock.saw(SERVER_MS)
    await busy()
    const [a, b, c] = [
      add(acquire, 'a'),
      add(acquire, 'b', { budget: 50 }),
      add(acquire, 'c', { budget: 54 }),
    ]
    await clock.settle()
    expect(nth(1).command.slice(-4)).toEqual([String(SERVER_MS + 50), 'a+950', 'b', 'c'])
    expect([a, b, c].map(({ attempt }) => attempt.notAfter)).toEqual(
      [1_000, 50, 54].map((ms) => SERVER_MS + ms),
    )
  })

  test('one reply may speak of all items', async () => {
    await busy()
    const all = ['a', 'b'].map((name) => add(release, name))
    await clock.settle()
    nth(1).reply([String(SERVER_MS), 'all', '7'])
    await clock.settle()
    expect(all.map(({ answer }) => answer?.result)).toEqual([['whole 7 0'], ['whole 7 1']])
  })
})

describe('an abandoned item', () => {
  test('is not sent: neither alone nor with others', async () => {
    await busy()
    const [a, b, c] = [add(release, 'a'), add(release, 'b'), add(release, 'c')]
    b.attempt.abandoned = true
    await clock.settle()
    expect(nth(1).command.slice(2, 5)).toEqual(['2', '{a}:lock', '{c}:lock'])
    nth(1).reply(answers(['one'], ['two']))
    await clock.settle()
    expect([a.answer?.result, b.answer, c.answer?.result]).toEqual([['one'], null, ['two']])
    add(release, 'd').attempt.abandoned = true
    await clock.settle()
    expect(sent).toHaveLength(1)
  })

  test('is not sent again with the whole script', async () => {
    const ended = add(release, 'a')
    ended.attempt.abandoned = true
    nth(1).fail(new Error('NOSCRIPT No matching script. Please use EVAL.'))
    await clock.settle()
    expect(sent).toHaveLength(1)
  })
})

describe('a script that the server does not know', () => {
  test('D12: is sent whole, and the time counts from the first try', async () => {
    const ended = add(release, 'a')
    clock.blockFor(50)
    nth(1).fail(new Error('NOSCRIPT No matching script. Please use EVAL.'))
    await clock.settle()
    expect(nth(2).command).toEqual(['EVAL', 'source of release', '1', '{a}:lock', 'shared', 'a'])
    nth(2).reply(answers(['missing']))
    await clock.settle()
    expect(ended.answer).toMatchObject({ result: ['missing'], maybeTwice: false })
    expect(ended.attempt.sent?.monotonic).toBe(0)
  })

  test('A3: after a change of connection an earlier copy may have run all the same', async () => {
    const ended = add(release, 'a')
    connection += 1
    nth(1).fail(new Error('NOSCRIPT No matching script. Please use EVAL.'))
    await clock.settle()
    nth(2).reply(answers(['missing']))
    await clock.settle()
    expect(ended.answer).toMatchObject({ maybeTwice: true })
  })
})

describe('failure', () => {
  test('of one item is its own', async () => {
    await busy()
    const all = ['a', 'b', 'c'].map((name) => add(release, name))
    await clock.settle()
    const wrongType = 'WRONGTYPE Operation against a key holding the wrong kind of value'
    nth(1).reply(answers(['missing'], ['error', wrongType], ['released', '0']))
    await clock.settle()
    expect(all.map(({ answer }) => answer?.result[0])).toEqual(['missing', undefined, 'released'])
    expect(all[1]?.failure).toMatchObject({
      kind: 'refused',
      outcome: 'not-done',
      final: true,
      reason: 'WRONGTYPE',
    })
  })

  test('of one item in a reply to a command that may have been sent twice is unknown', async () => {
    const ended = add(release, 'a')
    connection += 1
    nth(1).reply(answers(['error', 'READONLY You can’t write against a read only replica.']))
    await clock.settle()
    expect(ended.failure).toMatchObject({ reason: 'READONLY', outcome: 'unknown' })
  })

  test('by the ACL refuses the call: its items are sent singly, and only the one that is meant fails', async () => {
    await busy()
    const all = ['a', 'b', 'c'].map((name) => add(release, name))
    await clock.settle()
    nth(1).fail(new Error('NOPERM No permissions to access a key'))
    await clock.settle()
    const singles = sent.slice(1)
    expect(singles.map(({ command }) => command[3])).toEqual(['{a}:lock', '{b}:lock', '{c}:lock'])
    singles[0]?.reply(answers(['missing']))
    singles[1]?.fail(new Error('NOPERM No permissions to access a key'))
    singles[2]?.reply(answers(['missing']))
    await clock.settle()
    expect(all.map(({ failure }) => failure?.reason)).toEqual([undefined, 'NOPERM', undefined])
    expect(sent).toHaveLength(4)
  })

  test('by the ACL of a call that may have been sent twice does not send its items as new ones', async () => {
    await busy()
    const all = ['a', 'b'].map((name) => add(release, name))
    await clock.settle()
    connection += 1
    nth(1).fail(new Error('NOPERM No permissions to access a key'))
    await clock.settle()
    for (const { failure } of all) expect(failure).toMatchObject({ outcome: 'unknown', reason: 'NOPERM' })
    expect(sent).toHaveLength(1)
  })

  test.each([
    [new Error('READONLY You can’t write against a read only replica.'), 'refused', 'not-done', 'READONLY'],
    [new Error('Connection is closed.'), 'unreachable', 'unknown', 'connection'],
    ['text', 'unreachable', 'unknown', 'connection'],
  ])('of the call is that of all its items: %s', async (error, kind, outcome, reason) => {
    await busy()
    const all = ['a', 'b'].map((name) => add(release, name))
    await clock.settle()
    nth(1).fail(error)
    await clock.settle()
    for (const { failure } of all) expect(failure).toMatchObject({ kind, outcome, reason })
    expect(sent).toHaveLength(1)
  })

  test.each([[null], ['OK'], [[]], [[String(SERVER_MS)]], [{}]])(
    'a reply that no script of ours gives (%j) ends no operation as done',
    async (reply) => {
      const ended = add(release, 'a')
      nth(1).reply(reply)
      await clock.settle()
      expect(ended.answer?.result ?? []).toEqual([])
    },
  )

  test('a reply to another call is never taken for its own: unknown, and the connection is given up', async () => {
    const first = await busy()
    const a = add(release, 'a')
    await clock.settle()
    const b = add(release, 'b')
    await clock.settle()
    const reply = answers(['released', '0'])
    nth(1).replyRaw([SERVER_MS, 'the id of another', ...reply.slice(1)])
    await clock.settle()
    expect(a.answer).toBeNull()
    expect(a.failure).toMatchObject({ outcome: 'unknown', reason: 'mixed-up' })
    expect(distrusted).toBe(1)
    expect([first.failure, b.failure]).toEqual([null, null])
  })

  test('when TIME cannot be had nothing was sent', async () => {
    const ended = add(acquire, 'a')
    nth(1).fail(new Error('NOPERM this user has no permissions to run the time command'))
    await clock.settle()
    expect(ended.failure).toMatchObject({ reason: 'NOPERM', outcome: 'not-done' })
    expect(ended.attempt.sent).toBeNull()
    expect(sent).toHaveLength(1)
  })
})

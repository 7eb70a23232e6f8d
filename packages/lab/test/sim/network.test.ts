import { expect, test } from 'vitest'
import { Actor } from '../../src/sim/actor.ts'
import { Dice } from '../../src/sim/dice.ts'
import { Link, type Frame, type ServerEnd } from '../../src/sim/network/link.ts'
import type { Fate } from '../../src/sim/network/way.ts'
import { Scheduler } from '../../src/sim/scheduler.ts'

/** Goal: the simulated network does to messages what a real one may do, and nothing that TCP forbids. */

class Server extends Actor implements ServerEnd {
  readonly got: string[] = []
  ended = NaN

  receive(link: Link, command: readonly string[]): void {
    this.got.push(`${command.join(' ')}@${Math.round(this.scheduler.now)}`)
    link.answer({ kind: 'reply', reply: `re ${command.join(' ')}` })
  }

  closed(): void {
    this.ended = this.scheduler.now
  }
}

function connect(delay = { from: 10, to: 10 }) {
  const scheduler = new Scheduler()
  const client = new Actor('client', scheduler)
  const server = new Server('server', scheduler)
  const heard: string[] = []
  const clientEnd = {
    onFrame: (frame: Frame) =>
      heard.push(
        `${frame.kind === 'reply' && typeof frame.reply === 'string' ? frame.reply : ''}@${Math.round(scheduler.now)}`,
      ),
    onClose: () => heard.push(`closed@${Math.round(scheduler.now)}`),
  }
  const link = new Link({ role: 'commands', client, clientEnd, server, dice: new Dice(1), delay })
  const at = (time: number, what: () => void): void => void scheduler.at(time, null, what)
  const run = (): void => {
    while (scheduler.step(Infinity));
  }
  return { link, server, heard, at, run }
}

test('requests and replies arrive in order, whatever their delays', () => {
  const { link, server, heard, run } = connect({ from: 1, to: 50 })
  const sent = Array.from({ length: 30 }, (_, i) => `c${i}`)
  for (const command of sent) link.send([command])
  run()
  expect(server.got.map((got) => got.split('@')[0])).toEqual(sent)
  expect(heard.map((reply) => reply.split('@')[0])).toEqual(sent.map((command) => `re ${command}`))
})

test('what is held arrives at once, and in order, when the hold is let go', () => {
  const { link, server, run, at } = connect()
  link.send(['a'])
  link.send(['b'])
  at(5, () => link.up.holdUntil(1_000))
  at(95, () => link.send(['c']))
  at(100, () => link.up.letGo())
  run()
  expect(server.got).toEqual(['a@100', 'b@100', 'c@105'])
})

test('what is held arrives after the hold, in order with what was sent meanwhile', () => {
  const { link, server, run, at } = connect()
  link.send(['a'])
  at(5, () => link.up.holdUntil(100))
  at(20, () => link.send(['b']))
  at(95, () => link.send(['c']))
  run()
  expect(server.got).toEqual(['a@100', 'b@100', 'c@105'])
})

test('one way only: requests arrive while replies do not', () => {
  const { link, server, heard, run, at } = connect()
  link.down.holdUntil(200)
  link.send(['a'])
  at(30, () => link.send(['b']))
  run()
  expect(server.got).toEqual(['a@10', 'b@40'])
  expect(heard).toEqual(['re a@200', 're b@200'])
})

test.each<[Fate, string[]]>([
  ['lost', []],
  ['arrive', ['a@10']],
  [{ heldFor: 300 }, ['a@305']],
])(
  'a connection that ends while a request is under way (%j): the client hears of the end, and of no reply',
  (fate, got) => {
    const { link, server, heard, run, at } = connect()
    link.send(['a'])
    at(5, () => link.reset(fate))
    run()
    expect(server.got).toEqual(got)
    expect(heard).toEqual(['closed@5'])
    expect(server.ended).toBeGreaterThanOrEqual(5)
  },
)

test('a server that goes down has read nothing of what was under way', () => {
  const { link, server, heard, run, at } = connect()
  link.send(['a'])
  at(5, () => link.serverDown())
  run()
  expect(server.got).toEqual([])
  expect(heard).toEqual(['closed@5'])
})

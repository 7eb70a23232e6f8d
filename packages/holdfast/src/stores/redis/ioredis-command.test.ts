import { expect, test } from 'vitest'
import { Redis } from 'ioredis'
import { Redis as Redis5 } from 'ioredis5'
import { commandSender, encodeCommand } from './ioredis-command.ts'

/** Goal: what we encode is what the client would have sent. Method: both encode the same words, each by a class of its own. */

const ODD = ['EVALSHA', 'abc', '1', 'holdfast:v1:{straße|→|😀}:lock', '', 'a\r\nb', '\ud800']

test.each<[string, typeof Redis]>([
  ['ioredis', Redis],
  ['ioredis 5', Redis5 as never],
])('%s: word for word as its own commands, also where characters have several bytes', (_, Client) => {
  const client = new Client({ lazyConnect: true, enableAutoPipelining: true })
  const sent: InstanceType<typeof Client.Command>[] = []
  const send = commandSender(client)
  client.sendCommand = (command) => sent.push(command)
  for (const words of [ODD, ['PING'], ['GET', 'a']]) {
    void send?.(words)
    const [name = '', ...args] = words
    const own = new Client.Command(name, args, { replyEncoding: 'utf8' })
    const ours = sent.pop() as typeof own
    expect(Buffer.from(ours.toWritable({}))).toEqual(Buffer.from(own.toWritable({})))
    expect({ name: ours.name, args: ours.args }).toEqual({ name: own.name, args: own.args })
    expect(ours).toBeInstanceOf(Client.Command)
  }
  client.disconnect()
})

test('a client of which the class cannot be learned is left to make its commands itself', () => {
  const refusing = (): never => {
    throw new Error('not like this')
  }
  expect(commandSender({ options: {}, call: () => Promise.resolve('PONG') })).toBeNull()
  expect(commandSender({ options: {}, call: refusing })).toBeNull()
})

test('lengths are bytes', () => {
  expect(encodeCommand('GET', ['é'])).toBe('*2\r\n$3\r\nGET\r\n$2\r\né\r\n')
})

import { beforeEach, expect, test } from 'vitest'
import type { ServerIdentity } from '../../store/contract.ts'
import { VirtualClock } from '../../testing/virtual-clock.ts'
import { EpochWatch } from './epoch-watch.ts'
import type { RedisLink } from './link.ts'
import type { RedisPort } from './port.ts'

/** Goal: nobody who holds is left in doubt about another server. Method: a port whose answers to INFO are given by hand. */

let clock: VirtualClock
let connection: number
let answers: ((text: string | Error) => void)[]
let told: (readonly [string | null, string] | 'another')[]
let watch: EpochWatch
let port: RedisPort

beforeEach(() => {
  clock = new VirtualClock()
  connection = 1
  answers = []
  told = []
  const parts = {
    ready: true,
    get connection() {
      return connection
    },
    send: () =>
      new Promise((resolve, reject) => {
        answers.push((text) => (text instanceof Error ? reject(text) : resolve(text)))
      }),
  }
  port = parts as unknown as RedisPort
  const link = { ports: () => Promise.resolve([port]) } as unknown as RedisLink
  watch = new EpochWatch(link, clock, {
    changed: (before: ServerIdentity | null, { server }) => told.push([before?.server ?? null, server]),
    another: () => told.push('another'),
  })
})

const info = (run: string): string => `run_id:${run}\r\nmaster_replid:of-${run}\r\n`

async function answer(text: string | Error): Promise<void> {
  answers.shift()?.(text)
  await clock.advance(1)
}

async function beginAndConnectAnew(first: string | Error): Promise<void> {
  watch.begin(Promise.resolve())
  await clock.advance(1)
  await answer(first)
  connection += 1
  watch.connected(port)
  await clock.advance(1)
}

test('another server is told, with the one before', async () => {
  await beginAndConnectAnew(info('old'))
  await answer(info('new'))
  expect(told).toEqual([['old', 'new'], 'another'])
})

test('the same server is not', async () => {
  await beginAndConnectAnew(info('old'))
  await answer(info('old'))
  expect(told).toEqual([])
})

test('who asked the first one, and was not answered, may hold what the next one lacks', async () => {
  await beginAndConnectAnew(new Error('the connection ended'))
  await answer(info('new'))
  expect(told).toEqual([[null, 'new'], 'another'])
})

test('an answer that came over a connection before the present one tells nothing of it', async () => {
  watch.begin(Promise.resolve())
  await clock.advance(1)
  connection += 1
  await answer(info('old'))
  await answer(info('new'))
  expect(told).toEqual([[null, 'new'], 'another'])
})

test('where nothing is told, every connection may lead to another server', async () => {
  await beginAndConnectAnew('')
  await answer('')
  expect(told).toEqual(['another'])
})

test('a node that was not there in the beginning may have taken over from one that was', async () => {
  await beginAndConnectAnew(info('old'))
  await answer(info('old'))
  const other = Object.create(port) as RedisPort
  watch.connected(other)
  await clock.advance(1)
  await answer(info('new'))
  expect(told).toEqual([[null, 'new'], 'another'])
})

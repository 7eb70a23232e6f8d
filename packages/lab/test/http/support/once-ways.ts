import { createReadStream } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { fileURLToPath } from 'node:url'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

/** The ways in which the handlers of the tests answer. What they send is the same in every framework. */

/** Bytes that are no UTF-8. */
export const BINARY = Buffer.from([0xff, 0x00, 0xfe, 0x80, 0x0a])
export const ORDER = { id: 7, note: 'naïve ☃', paid: true }
/** Larger than what the tests keep. */
export const MAX_BYTES = 4_096
export const HUGE = Buffer.alloc(MAX_BYTES * 4, 'h')
export const FILE = fileURLToPath(new URL('sent-file.txt', import.meta.url))

/** Fields that every handler sets: of the first three all are replayed, of the others none. */
export const FIELDS: Readonly<Record<string, string>> = {
  location: '/orders/7',
  etag: '"v1"',
  'content-language': 'en',
  'set-cookie': 'session=secret',
  'x-ratelimit-remaining': '3',
  'x-internal': 'no',
}

/** What runs in handlers of tests, beside their answers. */
export interface OnceHandlers {
  /** Called when a handler runs. */
  readonly ran: (path: string) => void
  /** `/slow` and what is like it answers when this is resolved. */
  readonly slow: () => Promise<void>
}

/** Sent in parts, with time between them. */
export async function* parts(): AsyncGenerator<Buffer> {
  for (const part of ['one ', 'two ', 'three']) {
    await new Promise((resolve) => setTimeout(resolve, 2))
    yield Buffer.from(part)
  }
}

/** The second part comes with `slow`. */
export async function* slowParts({ slow }: OnceHandlers): AsyncGenerator<Buffer> {
  yield Buffer.from('one ')
  await slow()
  yield Buffer.from('two')
}

/** A stream that fails after its first part. */
export async function* broken(): AsyncGenerator<Buffer> {
  yield Buffer.from('one ')
  await new Promise((resolve) => setTimeout(resolve, 20))
  throw new Error('the source broke')
}

/** By the response of Node alone, whatever framework stands above it. @returns whether there is such a way */
export function answerByNode(path: string, response: ServerResponse, handlers: OnceHandlers): boolean {
  const answer = byNode[path]
  if (answer === undefined) return false
  for (const [name, value] of Object.entries(FIELDS)) response.setHeader(name, value)
  void answer(response, handlers)
  return true
}

const byNode: Record<string, (response: ServerResponse, handlers: OnceHandlers) => unknown> = {
  '/end': (response) =>
    response.writeHead(201, { 'content-type': 'application/json' }).end(JSON.stringify(ORDER)),
  '/end-text': (response) => response.end('grün', 'latin1'),
  '/empty': (response) => response.writeHead(204).end(),
  '/nothing': (response) => response.end(),
  '/write': (response) => {
    response.statusCode = 202
    response.write('one ')
    response.write(Buffer.from('two '), () => response.end('three', () => undefined))
  },
  '/head-pairs': (response) =>
    response.writeHead(200, 'Fine', ['Content-Type', 'text/plain', 'Link', '</a>; rel=next']).end('pairs'),
  '/pipe': (response) => Readable.from(parts()).pipe(response),
  '/pipeline': (response) => pipeline(parts, response).catch(() => undefined),
  '/file-pipe': (response) => createReadStream(FILE).pipe(response),
  '/binary': (response) => response.end(BINARY),
  '/slow': (response, { slow }) => slow().then(() => response.end('slow')),
  '/slow-stream': async (response, { slow }) => {
    response.write('one ')
    await slow()
    response.write('two')
    response.end()
  },
  '/slow-pipe': (response, handlers) => Readable.from(slowParts(handlers)).pipe(response),
  '/slow-pipeline': (response, handlers) =>
    pipeline(() => slowParts(handlers), response).catch(() => undefined),
  '/sized': async (response) => {
    response.setHeader('content-length', '13')
    for await (const part of parts()) response.write(part)
    response.end()
  },
  '/flushed': async (response) => {
    response.flushHeaders()
    await new Promise((resolve) => setTimeout(resolve, 2))
    response.end()
  },
  '/short': async (response) => {
    response.setHeader('content-length', '14')
    for await (const part of parts()) response.write(part)
    response.end()
  },
  '/huge': (response) => response.end(HUGE),
  '/huge-stream': (response) => {
    for (let at = 0; at < HUGE.length; at += 1_000) response.write(HUGE.subarray(at, at + 1_000))
    response.end()
  },
  '/events': (response, { slow }) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: 1\n\n')
    void slow().then(() => response.end('data: 2\n\n'))
  },
  '/broken': (response) => pipeline(broken, response).catch(() => undefined),
  '/never': () => undefined,
  '/twice': (response) => {
    response.statusCode = 201
    response.end('first')
    if (!response.headersSent) response.setHeader('etag', '"second"')
    response.statusCode = 500
    response.end('second')
  },
}

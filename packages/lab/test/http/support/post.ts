import http from 'node:http'
import http2 from 'node:http2'
import type { Readable } from 'node:stream'

/** An answer with its bytes. Header names in lower case. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Buffer
}

export interface Posted {
  readonly path: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string | string[]>>
  readonly body?: string | Buffer
}

/** Sends a request on a connection of its own. */
export function post(url: string, { path, method = 'POST', headers = {}, body }: Posted): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = http.request(new URL(path, url), { method, headers, agent: false }, (response) => {
      bytesOf(response).then(
        (bytes) => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: bytes }),
        reject,
      )
    })
    request.on('error', reject).end(body)
  })
}

/** The same over HTTP/2 without TLS. */
export async function postHttp2(
  url: string,
  { path, method = 'POST', headers = {}, body }: Posted,
): Promise<Answer> {
  const session = http2.connect(url)
  try {
    return await new Promise<Answer>((resolve, reject) => {
      session.on('error', reject)
      const stream = session.request(
        { ':method': method, ':path': path, ...headers },
        { endStream: body === undefined },
      )
      stream.on('error', reject)
      stream.on('response', (answer) => {
        const { ':status': status = 0, ...rest } = answer
        bytesOf(stream).then((bytes) => resolve({ status, headers: rest, body: bytes }), reject)
      })
      if (body !== undefined) stream.end(body)
    })
  } finally {
    session.close()
  }
}

/** Sends a request and goes away when `leave` is called, at whatever stage. */
export function postAndLeave(
  url: string,
  posted: Posted,
  version: 1 | 2,
): { leave(): void; began: Promise<void> } {
  const { path, headers = {}, body } = posted
  let began!: () => void
  const hasBegun = new Promise<void>((resolve) => (began = resolve))
  if (version === 1) {
    const request = http.request(
      new URL(path, url),
      { method: 'POST', headers, agent: false },
      (response) => {
        response.on('error', () => undefined).once('data', began)
      },
    )
    request.on('error', () => undefined).end(body)
    return { leave: () => request.destroy(), began: hasBegun }
  }
  const session = http2.connect(url)
  session.on('error', () => undefined)
  const stream = session.request(
    { ':method': 'POST', ':path': path, ...headers },
    { endStream: body === undefined },
  )
  stream.on('error', () => undefined).once('data', began)
  if (body !== undefined) stream.end(body)
  return { leave: () => session.destroy(), began: hasBegun }
}

/** What a client of HTTP/1.1 or HTTP/2 has of an answer so far. */
export interface Watched {
  /** Its status; 0 as long as there is no head. */
  status: number
  bytes: number
  readonly ended: Promise<void>
  leave(): void
}

/** Sends a request, and counts what comes. */
export function postAndWatch(url: string, posted: Posted, version: 1 | 2): Watched {
  const { path, headers = {}, body, method = 'POST' } = posted
  const watch = (answer: Readable, watched: Watched) =>
    new Promise<void>((resolve, reject) => {
      answer.on('data', (part: Buffer) => (watched.bytes += part.length))
      answer.on('error', reject).once('end', resolve)
    })
  let over!: (end: Promise<void>) => void
  const ended = new Promise<void>((resolve) => (over = resolve as typeof over))
  const watched: Watched = { status: 0, bytes: 0, ended, leave: () => undefined }
  if (version === 1) {
    const request = http.request(new URL(path, url), { method, headers, agent: false }, (response) => {
      watched.status = response.statusCode ?? 0
      over(watch(response, watched))
    })
    request.on('error', () => undefined).end(body)
    watched.leave = () => request.destroy()
    return watched
  }
  const session = http2.connect(url)
  const stream = session.request(
    { ':method': method, ':path': path, ...headers },
    { endStream: body === undefined },
  )
  stream.on('response', (answer) => (watched.status = Number(answer[':status'])))
  over(watch(stream, watched).finally(() => session.close()))
  if (body !== undefined) stream.end(body)
  return watched
}

async function bytesOf(stream: Readable): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of stream) parts.push(part as Buffer)
  return Buffer.concat(parts)
}

import http from 'node:http'
import http2 from 'node:http2'
import type { Readable } from 'node:stream'

/** An answer, its headers in lower case. */
export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
}

export interface Question {
  readonly method?: string
  readonly path?: string
  readonly headers?: Readonly<Record<string, string | string[]>>
}

/** Asks over HTTP/1.1, on a connection of its own. */
export function ask(
  url: string,
  { method = 'GET', path = '/', headers = {} }: Question = {},
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const request = http.request(new URL(path, url), { method, headers, agent: false }, (response) => {
      textOf(response).then(
        (body) => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }),
        reject,
      )
    })
    request.on('error', reject).end()
  })
}

/** Asks over HTTP/2 without TLS, on a connection of its own. */
export async function askHttp2(
  url: string,
  { method = 'GET', path = '/', headers = {} }: Question = {},
): Promise<Reply> {
  const session = http2.connect(url)
  try {
    return await new Promise<Reply>((resolve, reject) => {
      session.on('error', reject)
      const stream = session.request({ ':method': method, ':path': path, ...headers })
      stream.on('error', reject)
      stream.on('response', (answer) => {
        const { ':status': status = 0, ...rest } = answer
        textOf(stream).then((body) => resolve({ status, headers: rest, body }), reject)
      })
      stream.end()
    })
  } finally {
    session.close()
  }
}

/** Asks, and goes away without waiting for the answer. @returns what breaks the connection off */
export function askAndLeave(url: string, path: string, version: 1 | 2): () => void {
  if (version === 1) {
    const request = http.request(new URL(path, url), { agent: false })
    request.on('error', () => undefined).end()
    return () => request.destroy()
  }
  const session = http2.connect(url)
  session.on('error', () => undefined)
  const stream = session.request({ ':path': path })
  stream.on('error', () => undefined).end()
  return () => session.destroy()
}

async function textOf(stream: Readable): Promise<string> {
  let text = ''
  stream.setEncoding('utf8')
  for await (const part of stream) text += part as string
  return text
}

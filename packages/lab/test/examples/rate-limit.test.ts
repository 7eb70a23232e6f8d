import { readdirSync, readFileSync } from 'node:fs'
import { STATUS_CODES } from 'node:http'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startProcess, startRedis, waitFor } from '../../src/index.ts'
import type { OwnedProcess, RedisServer } from '../../src/index.ts'
import { ask } from '../http/support/ask.ts'
import type { Reply } from '../http/support/ask.ts'

/**
 * Goal: the example keeps its limit over several instances where its naive twin does not, and answers as its README says.
 * Method: three processes of each, as a user starts them, share one Redis.
 */

const FOLDER = new URL('../../../../examples/rate-limit/', import.meta.url)
const LOADER = new URL('../../../../build/register.mjs', import.meta.url).href

let redis: RedisServer
const started: OwnedProcess[] = []
let limited: readonly string[]
let naive: readonly string[]

beforeAll(async () => {
  redis = await startRedis()
  limited = await Promise.all([startInstance(), startInstance(), startInstance()])
  naive = await Promise.all([startInstance('--naive'), startInstance('--naive'), startInstance('--naive')])
})
afterAll(async () => {
  await Promise.all(started.map((instance) => instance.end()))
  await redis.stop()
})

/** @returns its address */
async function startInstance(...args: readonly string[]): Promise<string> {
  const server = fileURLToPath(new URL('server.ts', FOLDER))
  const env = { ...process.env, NODE_OPTIONS: '', PORT: '0', REDIS_URL: redis.url }
  const instance = await startProcess(process.execPath, ['--import', LOADER, server, ...args], { env })
  started.push(instance)
  return waitFor(() => /^Listening on (\S+)$/m.exec(instance.stdout)?.[1], {
    what: () => `an instance to listen: ${instance.stderr}`,
    within: 30_000,
  })
}

/** So many requests of one user at once, spread over the instances. @returns how often which status came */
async function burst(
  urls: readonly string[],
  user: string,
  requests: number,
): Promise<Record<number, number>> {
  const replies = await Promise.all(
    Array.from({ length: requests }, (_, n) => askAs(user, urls[n % urls.length] as string)),
  )
  const counts: Record<number, number> = {}
  for (const { status } of replies) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

function askAs(user: string, url: string): Promise<Reply> {
  return ask(url, { headers: { 'x-user': user } })
}

describe('W2: one user, 150 requests at once, three instances', () => {
  test('exactly 100 pass, and another user is not affected', async () => {
    expect(await burst(limited, 'eve', 150)).toEqual({ 200: 100, 429: 50 })
    expect(await burst(limited, 'grace', 3)).toEqual({ 200: 3 })
  })

  test('by hand, with GET and SET, more than 100 pass', async () => {
    const passed = (await burst(naive, 'eve', 150))[200] ?? 0
    expect(passed).toBeGreaterThan(100)
  })

  test('by hand, one after another, it looks right', async () => {
    for (let n = 0; n < 100; n += 1) expect((await askAs('mallory', naive[n % 3] as string)).status).toBe(200)
    expect((await askAs('mallory', naive[0] as string)).status).toBe(429)
  })
})

describe('the README', () => {
  const readme = readFileSync(new URL('README.md', FOLDER), 'utf8')
  const [, user = ''] = /^curl -i -H 'X-User: (\w+)' http:\/\/127\.0\.0\.1:3000\/$/m.exec(readme) ?? []
  const shown = [...readme.matchAll(/^```\n(HTTP[^`]*)```/gm)].map(([, block = '']) => block)

  /** Time goes on between a request and the next, so seconds that are left can be any. */
  const anyTime = (text: string) => text.replace(/;t=\d+/, ';t=N').replace(/^(Retry-After:) \d+$/m, '$1 N')

  /** A reply as the README shows it: the headers that it shows, in its order. */
  function asShown(block: string, { status, headers }: Reply): string {
    const names = [...block.matchAll(/^([\w-]+): /gm)].map(([, name = '']) => name)
    const lines = names.map((name) => `${name}: ${String(headers[name.toLowerCase()])}`)
    return [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines].join('\n')
  }

  /** The block up to its body. */
  const headOf = (block: string) => block.split('\n\n')[0] as string

  test('shows what curl gets: first within the limit, then beyond it', async () => {
    expect([user, shown.length]).toEqual(['ada', 2])
    const [within, beyond] = shown as [string, string]
    const [url] = limited as [string]
    const first = await askAs(user, url)
    expect(anyTime(asShown(within, first))).toBe(anyTime(headOf(within)))
    expect(within.trimEnd().endsWith(first.body.trimEnd())).toBe(true)
    expect(await burst(limited, user, 100)).toEqual({ 200: 99, 429: 1 })
    const denied = await askAs(user, url)
    expect(anyTime(asShown(beyond, denied))).toBe(anyTime(headOf(beyond)))
    expect(JSON.parse(denied.body)).toMatchObject({ status: 429, 'violated-policies': ['minute'] })
    const wait = Number(denied.headers['retry-after'])
    expect(wait).toBeGreaterThanOrEqual(1)
    expect(wait).toBeLessThanOrEqual(60)
  })

  test('names every file, and no other', () => {
    const named = [...readme.matchAll(/^\| `([\w-]+\.ts)`/gm)].map(([, file]) => file)
    expect(named.toSorted()).toEqual(readdirSync(FOLDER).filter((file) => file.endsWith('.ts')))
  })
})

test('who does not say who they are is refused', async () => {
  expect((await ask(limited[0] as string)).status).toBe(401)
})

test('ends by SIGTERM, and leaves nothing waiting', async () => {
  const instance = started[0] as OwnedProcess
  expect(await instance.end({ within: 5_000 })).toEqual({ code: 0, signal: null })
})

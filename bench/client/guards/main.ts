import { serveWorker } from '../../../packages/lab/src/servers/worker-side.ts'
import { guards, type GuardName } from '../../contenders/guards/index.ts'
import type { Guard } from '../../contenders/guards/guard.ts'
import { connectPg } from '../../contenders/packages.ts'
import { median } from '../../statistics.ts'
import { Samples } from '../limits/samples.ts'

/** A client process that writes to one row. It measures; the parent says what, and when. */

export interface OpenGuardWish {
  readonly guard: GuardName
  readonly url: string
}

export interface WritesResult {
  /** Of a write, in milliseconds. */
  readonly p50: number
  /** Statements sent for each write. */
  readonly statements: number
}

const WARM_UP_WRITES = 3_000
/** Rows are written anew: a table that was written to for long is slower. */
const FRESH_TABLE =
  'DROP TABLE IF EXISTS stock; CREATE TABLE stock (id int PRIMARY KEY, pieces bigint NOT NULL, fence bigint NOT NULL DEFAULT 0); INSERT INTO stock VALUES (1, 0, 0)'

let guard: Guard | undefined
let statements = 0
let end = async (): Promise<void> => undefined
let fence = 0n

async function close(): Promise<void> {
  await end()
  end = async () => undefined
}

/** One write after another for a time, each under a fence of its own. */
async function writes(ms: number, most = Infinity): Promise<WritesResult> {
  if (guard === undefined) throw new Error('nothing is open')
  const times = new Samples()
  const sentBefore = statements
  const over = performance.now() + ms
  let began = performance.now()
  while (began < over && times.length < most) {
    await guard.write((fence += 1n))
    const ended = performance.now()
    times.add(ended - began)
    began = ended
  }
  return { p50: median(times.values()), statements: (statements - sentBefore) / times.length }
}

serveWorker({
  close,
  async open({ guard: name, url }: OpenGuardWish) {
    await close()
    const client = await connectPg(url)
    end = () => client.end()
    await client.query(FRESH_TABLE)
    fence = 0n
    guard = await guards[name].open({
      query(text) {
        statements += 1
        return client.query(text)
      },
    })
  },
  warmUp: (share: number) => writes(Infinity, share * WARM_UP_WRITES),
  writes: (ms: number) => writes(ms),
})

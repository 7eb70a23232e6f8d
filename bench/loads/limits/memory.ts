import type { Bench } from '../../bench.ts'
import type { FillWish } from '../../client/limits/fill.ts'
import type { LimiterName } from '../../contenders/limits/index.ts'
import type { LimitSpec } from '../../contenders/limits/limiter.ts'
import { interleave } from '../../measurements.ts'
import type { Plan } from '../../plan.ts'
import type { Load } from '../load.ts'

const HOUR = 3_600_000

/** A little more than the server's millisecond, so that no two takes fall into the same. */
const EVERY_MS = 1.05

/** Subjects as services have them: what a key takes depends on how long it is. */
let lastUser = 1_000

/** What the keys of one subject take on the server. */
export function memoryLoads({ limits: { windows } }: Plan): readonly Load[] {
  const bucket: LimitSpec = { kind: 'bucket', capacity: 100, refill: 100, per: 1_000 * 60 }
  return [
    memoryLoad('limit/memory/bucket', bucket, 1, 'B'),
    ...windows.map((limit) =>
      memoryLoad(`limit/memory/window-${limit}`, { kind: 'window', limit, per: HOUR }, limit, 'KB'),
    ),
  ]
}

function memoryLoad(id: string, limit: LimitSpec, takes: number, unit: 'B' | 'KB'): Load {
  return {
    id,
    ours: 'holdfast limiter',
    floor: 'one script call',
    rows: [{ id, metric: 'memory', unit, better: 'lower' }],
    async run(bench) {
      const peers = bench.limiterPeers.filter((peer) => bench.plan.peersAside && isExact(peer, limit))
      const names: LimiterName[] = ['one script call', 'holdfast limiter', ...peers]
      return interleave(bench, { load: id, names, rounds: 1 }, async (limiter) => {
        const [client] = await bench.openLimiter(limiter, [limit], { patient: true })
        const subject = `user:${(lastUser += 1)}`
        const wish: FillWish = { subject, takes, cost: 1, every: EVERY_MS }
        await client?.call('fill', { ...wish })
        const bytes = await memoryOf(bench, subject)
        return { memory: unit === 'B' ? bytes : bytes / 1_024 }
      })
    },
  }
}

/** Counters of fixed windows take little, but they are no windows of the kind that is measured. */
function isExact(peer: LimiterName, { kind }: LimitSpec): boolean {
  return kind === 'bucket'
    ? peer === 'rate-limiter-flexible' || peer === 'rate-limit-redis'
    : peer === 'ratelimiter'
}

/** Of all keys that hold the subject's name. */
async function memoryOf({ redis }: Bench, subject: string): Promise<number> {
  const keys = (await redis.command('KEYS', `*${subject}*`)) as string[]
  if (keys.length === 0) throw new Error('nothing is kept')
  let bytes = 0
  for (const key of keys) bytes += Number(await redis.command('MEMORY', 'USAGE', key, 'SAMPLES', '0'))
  return bytes
}

/** What the demo was asked for on its command line. */

export type StoreName = 'redis' | 'sqlite'

/** What the demo can show, in its order. */
export const SCENES = ['coupons', 'payment', 'limit', 'failover'] as const

export type SceneName = (typeof SCENES)[number]

export interface DemoOptions {
  /** What to show; all when none was named. */
  readonly scenes: readonly SceneName[]
  /** One JSON object on stdout; everything else on stderr. */
  readonly json: boolean
  /** `null`: Redis when there is one, else SQLite. */
  readonly store: StoreName | null
  readonly help: boolean
}

export const usage = `npm run demo [-- coupons] [payment] [limit] [failover] [--store redis|sqlite] [--json]

  coupons          100 coupons, 200 buyers: what locks are for, and how they fail
  payment          one payment, three callbacks, one of which falls asleep
  limit            one user, 100 requests a minute, and limits that do not hold
  failover         the server is killed right after it granted a lock (needs redis-server)
                   without any of them: all
  --store redis    locks and limits on a Redis server: HOLDFAST_REDIS_URL if set, else one of our own
  --store sqlite   locks and limits in a SQLite file
                   without --store: Redis when there is one, else SQLite
  --json           one JSON object on stdout, everything else on stderr (use npm run -s)
  --help           this text
`

/** The command line cannot be understood. The message says what is wrong with it. */
export class UsageError extends Error {}

/** @throws UsageError for anything that is not known */
export function parseOptions(args: readonly string[]): DemoOptions {
  let json = false
  let help = false
  let store: StoreName | null = null
  const named = new Set<string>()
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] as string
    if (arg === '--json') json = true
    else if (arg === '--help' || arg === '-h') help = true
    else if (arg === '--store') store = storeNamed(args[++i])
    else if (arg.startsWith('--store=')) store = storeNamed(arg.slice('--store='.length))
    else if ((SCENES as readonly string[]).includes(arg)) named.add(arg)
    else throw new UsageError(`unknown argument ${JSON.stringify(arg)}`)
  }
  const scenes = named.size === 0 ? SCENES : SCENES.filter((scene) => named.has(scene))
  return { scenes, json, store, help }
}

function storeNamed(value: string | undefined): StoreName {
  if (value === 'redis' || value === 'sqlite') return value
  const given = value === undefined ? 'nothing' : JSON.stringify(value)
  throw new UsageError(`--store takes redis or sqlite, not ${given}`)
}

/** What the demo was asked for on its command line. */

export type StoreName = 'redis' | 'sqlite'

export interface DemoOptions {
  /** One JSON object on stdout; everything else on stderr. */
  readonly json: boolean
  /** `null`: Redis when there is one, else SQLite. */
  readonly store: StoreName | null
  readonly help: boolean
}

export const usage = `npm run demo [-- --store redis|sqlite] [--json]

  --store redis    locks on a Redis server: HOLDFAST_REDIS_URL if set, else one of our own
  --store sqlite   locks in a SQLite file
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
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] as string
    if (arg === '--json') json = true
    else if (arg === '--help' || arg === '-h') help = true
    else if (arg === '--store') store = storeNamed(args[++i])
    else if (arg.startsWith('--store=')) store = storeNamed(arg.slice('--store='.length))
    else throw new UsageError(`unknown argument ${JSON.stringify(arg)}`)
  }
  return { json, store, help }
}

function storeNamed(value: string | undefined): StoreName {
  if (value === 'redis' || value === 'sqlite') return value
  const given = value === undefined ? 'nothing' : JSON.stringify(value)
  throw new UsageError(`--store takes redis or sqlite, not ${given}`)
}

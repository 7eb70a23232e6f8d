/** A server is killed in the moment in which it granted a lock, in four ways of keeping it. */

import { Drill, type DrillName, type DrillRound } from '../../failover/drill.ts'

export const FAILOVER_LANES = ['P1', 'P2'] as const

/** `fenced` is the plain lock, with a table that checks fences behind it. */
export const FAILOVER_VARIANTS = ['plain', 'acknowledged', 'quorum', 'fenced'] as const
export type FailoverVariant = (typeof FAILOVER_VARIANTS)[number]

/** What one variant came to. */
export interface FailoverResult {
  readonly name: FailoverVariant
  readonly grantedTwice: boolean
  /** Late writes that the table took. */
  readonly staleWrites: number
  readonly round: DrillRound
}

/** The failover's part of what `--json` prints. */
export interface FailoverSummary {
  readonly variants: readonly Pick<FailoverResult, 'name' | 'grantedTwice' | 'staleWrites'>[]
}

/** A replica may have got the grant in time, by luck; then the accident is tried again, so often at most. */
const MOST_TRIES = 5

/** Runs every variant. `progress` is told the name of each before it runs. */
export async function failOver(progress: (variant: string) => void): Promise<FailoverResult[]> {
  progress('starting the servers')
  // All at once: servers that reopen late do it while the others run.
  const starting = new Map<DrillName, Promise<Drill>>()
  for (const name of ['plain', 'acknowledged', 'quorum'] as const) starting.set(name, Drill.start(name))
  const drills = await Promise.all(starting.values())
  try {
    const results: FailoverResult[] = []
    for (const name of FAILOVER_VARIANTS) {
      progress(name)
      const drill = await (starting.get(name === 'fenced' ? 'plain' : name) as Promise<Drill>)
      results.push(await play(name, drill))
    }
    return results
  } finally {
    await Promise.all(drills.map((drill) => drill.close()))
  }
}

async function play(name: FailoverVariant, drill: Drill): Promise<FailoverResult> {
  const unguarded = name === 'plain' || name === 'fenced'
  for (let tries = 1; ; tries += 1) {
    const round = await drill.round()
    const grantedTwice = round.grantedAgain !== null
    if (grantedTwice || !unguarded || tries === MOST_TRIES)
      return { name, grantedTwice, staleWrites: round.staleWrites, round }
  }
}

/** Where nobody should be granted it twice nobody was, and no stale write was taken by the table, in any variant. */
export function failoverHeld({ variants }: FailoverSummary): boolean {
  return variants.every(
    ({ name, grantedTwice, staleWrites }) =>
      staleWrites === 0 && (!grantedTwice || name === 'plain' || name === 'fenced'),
  )
}

import type { Bench } from './bench.ts'
import { roleOf, type AnyName } from './contenders/index.ts'

/** What one slice gave, by metric. */
export type Slice = Readonly<Record<string, number>>

/** The slices of a load: by contender, one a round. */
export class Measurements {
  readonly #slices = new Map<AnyName, Slice[]>()
  /** Let two in at once: their figures count for nothing. */
  readonly broken = new Set<AnyName>()

  get contenders(): readonly AnyName[] {
    return [...this.#slices.keys()]
  }

  add(contender: AnyName, slice: Slice): void {
    const slices = this.#slices.get(contender) ?? []
    this.#slices.set(contender, slices)
    slices.push(slice)
  }

  /** Adds to every slice of a contender what was measured once. */
  addToAll(contender: AnyName, more: Slice): void {
    const slices = this.#slices.get(contender)
    if (slices !== undefined) {
      this.#slices.set(
        contender,
        slices.map((slice) => ({ ...slice, ...more })),
      )
    }
  }

  drop(contender: AnyName): void {
    this.#slices.delete(contender)
  }

  /** One number a round, NaN where there is none in it; empty when that was never measured. */
  values(contender: AnyName, metric: string): readonly number[] {
    const values = (this.#slices.get(contender) ?? []).map((slice) => slice[metric] ?? NaN)
    return values.every(Number.isNaN) ? [] : values
  }
}

/** A slice that takes this much longer than planned hangs. */
export const PATIENCE_MS = 15_000

/** What a contender does in one round may take this long, opening and counting included. */
const LONGEST_TURN_MS = 120_000

export interface Interleaving<Name extends AnyName> {
  /** For notes. */
  readonly load: string
  readonly names: readonly Name[]
  readonly rounds: number
  /** Peers sit out the rounds after these. Default: none. */
  readonly peerRounds?: number | undefined
}

/**
 * Measures every contender once a round, in an order that moves on with each round, so that what slows the machine for a
 * while slows all. Who fails is out of this load, and that is noted.
 */
export async function interleave<Name extends AnyName>(
  bench: Bench,
  { load, names, rounds, peerRounds = rounds }: Interleaving<Name>,
  slice: (contender: Name, round: number) => Promise<Slice>,
): Promise<Measurements> {
  const measurements = new Measurements()
  const out = new Set<Name>()
  for (let round = 0; round < rounds; round += 1) {
    for (let i = 0; i < names.length; i += 1) {
      const contender = names[(i + round) % names.length] as Name
      if (out.has(contender) || (roleOf(contender) === 'peer' && round >= peerRounds)) continue
      try {
        measurements.add(contender, await withPatience(slice(contender, round), LONGEST_TURN_MS))
      } catch (error) {
        out.add(contender)
        measurements.drop(contender)
        bench.notes.push(`${load}: ${contender} is out: ${messageOf(error)}`)
        await bench.fleet.dismiss(contender)
      }
    }
  }
  return measurements
}

/** Rejects when something takes too long; who waits for it goes on without it. */
export async function withPatience<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done within ${Math.round(ms / 1_000)} s`)), ms)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

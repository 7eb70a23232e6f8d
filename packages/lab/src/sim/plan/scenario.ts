import type { FaultName } from './faults.ts'

/** A kind of world. */
export interface Scenario {
  /** What it is for, in a sentence. */
  readonly about: string
  readonly faults: { readonly kinds: readonly FaultName[]; readonly least: number; readonly most: number }
  readonly clients: { readonly least: number; readonly most: number }
  readonly callers: { readonly least: number; readonly most: number }
  readonly steps: { readonly least: number; readonly most: number }
  /** What is asked for: locks unless it says otherwise. */
  readonly subject?: 'limits' | 'once'
  readonly names: number
  /** Leases and budgets that are drawn from, in milliseconds. */
  readonly ttls: readonly number[]
  readonly budgets: readonly number[]
  /** The share of holds that begin with an extension. */
  readonly extendsFirst: number
  /** The share of works that end soon, and say that nothing happened. */
  readonly saysNothing: number
  /** How many nodes of a cluster there are, in place of one server. Default: none. */
  readonly nodes?: number
  /** What servers tell of themselves, and whether they stay shut after a switch. Default: neither. */
  readonly servers?: { readonly tell: boolean; readonly reopen: boolean }
}

export const USUAL = {
  clients: { least: 3, most: 3 },
  callers: { least: 1, most: 2 },
  steps: { least: 1, most: 3 },
  names: 1,
  ttls: [150, 400, 1_000, 3_000],
  budgets: [200, 500, 1_000],
  extendsFirst: 0,
  saysNothing: 0,
} as const

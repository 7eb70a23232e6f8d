/** How much is measured. Times in milliseconds. */
export interface Sampling {
  /** Each round measures every contender once. */
  readonly rounds: number
  /** Peers sit out the rounds after these, unless a target compares with them. Default: none. */
  readonly peerRounds?: number
  /** Before each slice, not counted. */
  readonly warmUp: number
  readonly slice: number
}

export interface Plan {
  readonly name: 'quick' | 'full'
  /** How much of its warm-up a fresh client process does: 1 is until its code is compiled and settled. */
  readonly warmUpOfAProcess: number
  readonly cycles: Sampling
  /** The same behind a network. */
  readonly delayed: Sampling
  readonly contended: Sampling
  /** Loads that have no target, for those who want to know more. */
  readonly aside: { readonly cycles: Sampling; readonly contended: Sampling } | null
  /** Whether peers take part where no target and no curve asks for them. */
  readonly peersAside: boolean
  readonly drainRounds: number
  readonly heapRounds: number
  readonly limits: LimitSampling
}

/** Of the loads of limits that are not decisions for a time. */
export interface LimitSampling {
  /** Of bursts, and of the server's time. */
  readonly rounds: number
  /** Of exact windows that are filled to see what they take. Every take is a millisecond apart. */
  readonly windows: readonly number[]
  /** Milliseconds in which a window of a million is filled, and so the number of its entries. */
  readonly filled: number
  /** Whether that is done by hand as well. */
  readonly floorOfServerTime: boolean
}

export const full: Plan = {
  name: 'full',
  warmUpOfAProcess: 1,
  cycles: { rounds: 7, warmUp: 100, slice: 500 },
  delayed: { rounds: 5, peerRounds: 2, warmUp: 100, slice: 500 },
  contended: { rounds: 5, warmUp: 200, slice: 1_000 },
  aside: {
    cycles: { rounds: 3, warmUp: 100, slice: 500 },
    contended: { rounds: 2, peerRounds: 1, warmUp: 100, slice: 500 },
  },
  peersAside: true,
  drainRounds: 3,
  heapRounds: 2,
  limits: { rounds: 3, windows: [100, 10_000], filled: 2_000, floorOfServerTime: true },
}

export const quick: Plan = {
  name: 'quick',
  warmUpOfAProcess: 0.05,
  cycles: { rounds: 2, peerRounds: 1, warmUp: 30, slice: 130 },
  delayed: { rounds: 2, warmUp: 50, slice: 200 },
  contended: { rounds: 2, peerRounds: 1, warmUp: 50, slice: 140 },
  aside: null,
  peersAside: false,
  drainRounds: 1,
  heapRounds: 1,
  limits: { rounds: 1, windows: [100], filled: 500, floorOfServerTime: false },
}

/** The same plan with another number of rounds. */
export function withRounds(plan: Plan, rounds: number): Plan {
  const { cycles, delayed, contended, aside, limits } = plan
  return {
    ...plan,
    cycles: { ...cycles, rounds },
    delayed: { ...delayed, rounds },
    contended: { ...contended, rounds },
    aside: aside && { cycles: { ...aside.cycles, rounds }, contended: { ...aside.contended, rounds } },
    drainRounds: rounds,
    heapRounds: rounds,
    limits: { ...limits, rounds },
  }
}

import { USUAL, type Scenario } from './scenario.ts'

/** Worlds in which servers take over from others, and what is kept from being granted twice. */
export const SWITCH_SCENARIOS: Readonly<Record<string, Scenario>> = {
  reopening: {
    ...USUAL,
    about: 'servers restart and take over without the last writes; with reopenDelay no lock is granted twice',
    faults: {
      kinds: [
        'restart',
        'restart',
        'take-over',
        'take-over',
        'take-over',
        'fall-back',
        'fall-back',
        'reset',
        'hold',
        'stop',
      ],
      least: 1,
      most: 3,
    },
    steps: { least: 1, most: 3 },
    ttls: [1_500, 3_000, 6_000],
    // Holders find out by themselves only: what keeps them apart is the server.
    servers: { tell: false, reopen: true },
  },
  epochs: {
    ...USUAL,
    about:
      'a replica takes over; whoever holds without renewal is told of what it lacks, and releases are repeated',
    faults: { kinds: ['take-over', 'take-over', 'restart'], least: 1, most: 2 },
    ttls: [3_000, 10_000],
    servers: { tell: true, reopen: false },
  },
}

const stores = 'packages/holdfast/src/stores/quorum'
const granting = `${stores}/granting.test.ts`
const renewing = `${stores}/renewing.test.ts`
const waiting = `${stores}/waiting.test.ts`

/**
 * The quorum broken on purpose. Each entry must be caught by the test it names.
 * @type {Record<string, import('../../build/mutation.mjs').Mutant>}
 */
export const quorumMutants = {
  'quorum-half-is-enough': {
    file: `${stores}/majority.ts`,
    text: 'return Math.floor(nodes / 2) + 1',
    replacement: 'return Math.floor(nodes / 2)',
    caughtBy: {
      file: granting,
      test: 'no majority > B1: an exact tie settles at once, and is rolled back everywhere',
    },
  },
  'quorum-drift-ignored': {
    file: `${stores}/quorum.ts`,
    text: 'ttl * (1 + this.terms.drift - bounds.driftShare)',
    replacement: 'ttl',
    caughtBy: {
      file: granting,
      test: 'a grant > the wider drift is put on top on the nodes: a fast clock does not end a lease before its holder',
    },
  },
  'quorum-no-roll-back': {
    file: `${stores}/granting.ts`,
    text: "this.#quorum.spend(claim)\n    if (round.kind === 'busy') {",
    replacement: "claim.spent = true\n    if (round.kind === 'busy') {",
    caughtBy: {
      file: granting,
      test: 'no majority > B6: two of three refuse: one round, and an error that says so',
    },
  },
  'quorum-validity-from-the-reply': {
    file: `${stores}/granting.ts`,
    text: 'claim.fence = fence\n',
    replacement:
      'claim.fence = fence\n      attempt.sent = { monotonic: this.#now, wall: this.#quorum.clock.wall() }\n',
    caughtBy: {
      file: granting,
      test: 'a grant > B3: comes with the majority; the slow nodes are not waited for, and validity counts from the start',
    },
  },
  'quorum-impossible-told-as-busy': {
    file: `${stores}/majority.ts`,
    text: 'if (granted + busy.length >= majority) return',
    replacement: 'if (busy.length > 0) return',
    caughtBy: { file: `${stores}/majority.test.ts`, test: 'acquiring > X down down: impossible' },
  },
  'quorum-unanswered-is-not-given-back': {
    file: `${stores}/standing.ts`,
    text: "return this.state !== 'absent' || this.#lastMoment() > -Infinity",
    replacement: "return this.state !== 'absent'",
    caughtBy: {
      file: granting,
      test: 'no majority > a grant that arrives after its release is released once more, until none can come',
    },
  },
  'quorum-given-back-once': {
    file: `${stores}/giving-back.ts`,
    text: 'if (standing.clearedAt(answer.serverTime)) {',
    replacement: 'if (standing.clearedAt(Infinity)) {',
    caughtBy: {
      file: granting,
      test: 'no majority > a grant that arrives after its release is released once more, until none can come',
    },
  },
  'quorum-silent-node-is-given-up': {
    file: `${stores}/giving-back.ts`,
    text: 'for (const node of [...this.#open]) void this.#release(node, true)',
    replacement: '',
    caughtBy: {
      file: granting,
      test: 'no majority > a node that does not answer is released again until the lease is over, and then no more',
    },
  },
  'quorum-renewed-by-a-minority': {
    file: `${stores}/majority.ts`,
    text: "if (renewed >= majority) return { kind: 'renewed' }",
    replacement: "if (renewed >= 1) return { kind: 'renewed' }",
    caughtBy: {
      file: renewing,
      test: 'a renewal > by fewer than a majority is none: lost, and the rest is given back',
    },
  },
  'quorum-newcomer-counts-at-once': {
    file: `${stores}/standing.ts`,
    text: 'this.fence !== result.fence) this.state = as',
    replacement: "this.fence !== result.fence) this.state = as && 'member'",
    caughtBy: {
      file: renewing,
      test: 'a node that came back > does not count before: what stood meanwhile may have had a gap',
    },
  },
  'quorum-nobody-is-taken-in': {
    file: `${stores}/renewing.ts`,
    text: "if (round.kind === 'renewed') this.#takeIn(ours, ask, round.votes)",
    replacement: "if (round.kind === 'renewed') return this.#answer({ kind: 'renewed' })",
    caughtBy: {
      file: renewing,
      test: 'a node that came back > 41: is taken in after a renewal that stood without it',
    },
  },
  'quorum-lockstep-after-a-split-vote': {
    file: `${stores}/wakes.ts`,
    text: '}, ms * randomness.fraction())',
    replacement: '}, ms)',
    caughtBy: {
      file: waiting,
      test: 'when to ask again > after a split vote at any time within twenty rounds, so that contenders part',
    },
  },
  'quorum-one-node-wakes': {
    file: `${stores}/wakes.ts`,
    text: 'if (pending.nodes.size < this.#parts.majority)',
    replacement: 'if (pending.nodes.size < 1)',
    caughtBy: {
      file: waiting,
      test: 'when to ask again > at once when a majority wakes; the others are no news',
    },
  },
  'quorum-fence-without-agreement': {
    file: `${stores}/granting.ts`,
    text: 'if (!this.#quorum.terms.fenced) return fence',
    replacement: 'if (fence > 0n) return fence',
    caughtBy: {
      file: granting,
      test: 'fences > the highest of the majority is agreed to by a majority: the next grant is above it, on whichever nodes',
    },
  },
  'quorum-higher-fence-agrees': {
    file: 'packages/holdfast/src/store/lock-rules.ts',
    text: "if (BigInt(lease.fence) > fence) return { kind: 'higher', fence: BigInt(lease.fence) }",
    replacement: '',
    caughtBy: { file: granting, test: 'fences > a node whose own fence is higher asks for a higher one' },
  },
  'quorum-one-server-twice': {
    file: `${stores}/identities.ts`,
    text: '(known) => known.identity.server === server || (',
    replacement: '(known) => known.identity.server === null || (',
    caughtBy: {
      file: `${stores}/quorum-store.test.ts`,
      test: 'independence > B5: one server by two addresses: is refused at first use, with nothing left behind',
    },
  },
  'quorum-agreement-forgotten': {
    file: 'packages/holdfast/src/stores/redis/lua/raise.lua',
    text: 'return writeLast(fenceKey, last, fence, retention)',
    replacement: 'return nil',
    caughtBy: {
      file: 'packages/lab/test/quorum/search.test.ts',
      test: "fences of a quorum, all states > 'locks end in time': none falls",
    },
  },
}

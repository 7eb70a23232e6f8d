const A = 'packages/holdfast/src/idempotency/abandoned.test.ts'
const I = 'packages/holdfast/src/idempotency/idempotency.test.ts'
const R = 'packages/lab/test/contract/once-redis.test.ts'

/**
 * Idempotency broken on purpose. Each entry must be caught by the test it names.
 * @type {Record<string, import('../../build/mutation.mjs').Mutant>}
 */
export const onceMutants = {
  'outcome-of-a-lost-run-overwrites': {
    file: 'packages/holdfast/src/store/once/record.ts',
    text: 'if (record !== null && !runs(record, ask.owner)) {',
    replacement: "if (record !== null && record.state === 'done' && record.owner === ask.owner) {",
    caughtBy: {
      file: A,
      test: 'a runner that lost its key > F7: is told by its signal, and cannot overwrite its successor',
    },
  },
  'outcome-of-a-lost-run-overwrites-on-redis': {
    file: 'packages/holdfast/src/stores/redis/lua/once-complete.lua',
    text: 'if record and not runs(record, owner) then',
    replacement: "if record and record.state == 'done' and record.owner == owner then",
    caughtBy: {
      file: R,
      test: 'once store contract: redis over ioredis > F7: one whose key was taken over changes nothing any more, while the other runs and after',
    },
  },
  'outcome-of-a-lost-run-overwrites-at-once': {
    file: 'packages/holdfast/src/stores/redis/lua/once-complete.lua',
    text: 'string.sub(value, 1, #head) == head',
    replacement: "string.sub(value, 1, 8) == 'running '",
    caughtBy: {
      file: R,
      test: 'once store contract: redis over ioredis > F7: one whose key was taken over changes nothing any more, while the other runs and after',
    },
  },
  'abandoned-run-is-taken-over-unasked': {
    file: 'packages/holdfast/src/store/once/record.ts',
    text: '(left > 0 || !ask.retryAbandoned)',
    replacement: 'left > 0',
    caughtBy: {
      file: A,
      test: 'a runner that died > F6: "outcome unknown" to everybody until it is settled: by a value',
    },
  },
  'payload-of-what-is-done-is-not-compared-on-redis': {
    file: 'packages/holdfast/src/stores/redis/lua/once-claim.lua',
    text: "if known and (known == '-' or fingerprint == '-' or known == fingerprint) then",
    replacement: 'if known then',
    caughtBy: {
      file: R,
      test: 'once store contract: redis over ioredis > F12: another payload is refused whatever the state, and changes nothing; without one nothing is compared',
    },
  },
  'run-that-goes-on-is-taken-over-on-redis': {
    file: 'packages/holdfast/src/stores/redis/lua/once-claim.lua',
    text: '(record.ends > now or not retry)',
    replacement: '(not retry)',
    caughtBy: {
      file: R,
      test: 'once store contract: redis over ioredis > F5: it is taken over after the lease, by one, and the runs are counted',
    },
  },
  'settlement-of-what-is-done': {
    file: 'packages/holdfast/src/store/once/record.ts',
    text: "if (record.state === 'done' && record.outcome?.form !== 'unstored')",
    replacement: 'if (false as boolean)',
    caughtBy: {
      file: A,
      test: 'a runner that lost its key > F4: when it ends before anybody came, its outcome counts',
    },
  },
  'lost-claim-is-left-behind': {
    file: 'packages/holdfast/src/idempotency/commands.ts',
    text: "if (outcome.kind === 'unknown') void this.free(claimed(1, began, lastMoment), false)",
    replacement: '',
    caughtBy: {
      file: A,
      test: 'F16: a store that does not answer > a claim that was made and never answered is given back, so that the key is free and nobody is told "unknown"',
    },
  },
  'lost-claim-is-given-up-with-its-lease': {
    file: 'packages/holdfast/src/idempotency/commands.ts',
    text: 'now >= giveUpAt && now < lateUntil',
    replacement: 'now >= giveUpAt && now > lateUntil',
    caughtBy: {
      file: A,
      test: 'F16: a store that does not answer > a claim that could not be given back for a whole lease is given back later: nobody is told "abandoned"',
    },
  },
  'lost-claims-are-given-back-without-bound': {
    file: 'packages/holdfast/src/idempotency/commands.ts',
    text: ' && this.#late < MOST_LATE',
    replacement: '',
    caughtBy: {
      file: A,
      test: 'F16: a store that does not answer > so it goes on for a thousand keys, ever more seldom, and not beyond the retention',
    },
  },
  'lost-claim-is-given-back-once': {
    file: 'packages/holdfast/src/idempotency/commands.ts',
    text: 'unfinishedUntil === null ? 0 : Math.max(0, unfinishedUntil - serverTime + 1)',
    replacement: '0 * serverTime',
    caughtBy: {
      file: A,
      test: 'F16: a store that does not answer > a claim that arrives after its call gave up is given back, too',
    },
  },
  'claim-of-another-copy-is-left-behind': {
    file: 'packages/holdfast/src/idempotency/commands.ts',
    text: "if (unfinished !== null && result.kind !== 'done') void this.free(claimed(1, began, unfinished), false)",
    replacement: '',
    caughtBy: {
      file: A,
      test: 'F16: a store that does not answer > a claim that was refused to one copy is given back when another copy got it later',
    },
  },
  'run-is-not-renewed': {
    file: 'packages/holdfast/src/idempotency/run-lease.ts',
    text: 'engine.schedule.put(this, claim.sent.monotonic + lease / bounds.renewalsPerTtl)',
    replacement: 'engine.schedule.put(this, claim.sent.monotonic + lease)',
    caughtBy: {
      file: I,
      test: 'one run > outlives its lease many times over while it runs, and a repeat waits for it',
    },
  },
  'payload-in-flight-is-not-compared': {
    file: 'packages/holdfast/src/idempotency/call.ts',
    text: 'refuseOther(this.#parts.about, running.fingerprint, fingerprint)',
    replacement: 'void fingerprint',
    caughtBy: {
      file: I,
      test: 'while another runs it > F12: another payload is refused at once, in this process and in another, in flight and after',
    },
  },
  'every-error-is-final': {
    file: 'packages/holdfast/src/idempotency/options.ts',
    text: "return 'value' in outcome || isFinalError(outcome.error)",
    replacement: "return 'value' in outcome || outcome.error !== undefined || isFinalError(outcome.error)",
    caughtBy: {
      file: I,
      test: 'what is final > F8: an error is not stored and frees the key, unless it is marked as final',
    },
  },
  'undefined-is-not-replayed': {
    file: 'packages/holdfast/src/idempotency/codec.ts',
    text: "return { stored: { form: 'void', body: '' }, failure: null }",
    replacement: "return { stored: { form: 'value', body: 'null' }, failure: null }",
    caughtBy: { file: I, test: 'one run > F1: undefined is replayed, and not run again' },
  },
  'members-in-their-order': {
    file: 'packages/holdfast/src/idempotency/fingerprint.ts',
    text: 'Object.keys(value).sort()',
    replacement: 'Object.keys(value)',
    caughtBy: {
      file: 'packages/holdfast/src/idempotency/fingerprint.test.ts',
      test: 'F11: the order of members does not count, nor how a number was written',
    },
  },
  'each-call-asks-by-itself': {
    file: 'packages/holdfast/src/idempotency/call.ts',
    text: 'shared.asking ?? this.#ask(shared)',
    replacement: 'this.#ask(shared)',
    caughtBy: {
      file: I,
      test: 'in one process > F9: a thousand calls of a key that is done, or runs elsewhere, ask together',
    },
  },
}

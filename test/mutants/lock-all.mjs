const STORES = 'packages/lab/test/lock-all/stores.test.ts'
const REDIS = 'packages/lab/test/lock-all/redis.test.ts'

/**
 * Several names at once, broken on purpose. Each entry must be caught by the test it names.
 * @type {Record<string, import('../../build/mutation.mjs').Mutant>}
 */
export const lockAllMutants = {
  'names-are-taken-in-the-order-given': {
    file: 'packages/holdfast/src/lock/lock-all.ts',
    text: 'return one < other ? -1 : one > other ? 1 : 0',
    replacement: 'return one === other ? 1 : 0',
    caughtBy: {
      file: STORES,
      test: 'lockAll on memory > B8: two want the same in opposite orders, 200 times: never both, and never stuck',
    },
  },
  'what-was-taken-stays-held': {
    file: 'packages/holdfast/src/lock/lock-all.ts',
    text: 'for (const [, lease] of leases.toReversed()) {',
    replacement: 'for (const [, lease] of leases.slice(1)) {',
    caughtBy: {
      file: STORES,
      test: 'lockAll on memory > one is busy: none is had, and who has it is said',
    },
  },
  'lease-that-is-over-is-handed-out': {
    file: 'packages/holdfast/src/lock/lock-all.ts',
    text: 'obtained.leases.every(([, lease]) => lease.lost === null)',
    replacement: 'obtained.leases.length > 0',
    caughtBy: {
      file: STORES,
      test: 'what is asked for > a lease that is over before the last one is had is not handed out',
    },
  },
  'loss-of-one-leaves-the-others-held': {
    file: 'packages/holdfast/src/lock/held-all.ts',
    text: 'if (!this.#released) for (const [, lease]',
    replacement: 'if (this.#released) for (const [, lease]',
    caughtBy: {
      file: STORES,
      test: 'lockAll on memory > one is lost: all are, and the others are given back',
    },
  },
  'some-stay-granted-where-one-is-refused': {
    file: 'packages/holdfast/src/stores/redis/lua/acquire.lua',
    text: 'if refused and written(reply)',
    replacement: 'if refused and not written(reply)',
    caughtBy: {
      file: 'packages/lab/test/lock-all/refused.test.ts',
      test: 'on one server > over ioredis > a list lies at a: no other name was ever held',
    },
  },
  'caller-is-told-before-it-is-given-back': {
    file: 'packages/holdfast/src/lock/lock-all.ts',
    text: 'if (signal === null) await given',
    replacement: 'if (signal === null) void given',
    caughtBy: {
      file: 'packages/lab/test/lock-all/refused.test.ts',
      test: 'one after another > one is refused: what was had is given back before the caller is told',
    },
  },
  'some-are-granted-where-one-is-busy': {
    file: 'packages/holdfast/src/stores/redis/lua/acquire.lua',
    text: "if missed and string.find(manners, 'a', 1, true) then",
    replacement: "if missed and string.find(manners, 'A', 1, true) then",
    caughtBy: {
      file: REDIS,
      test: 'over ioredis > one is busy: not one key is written, so nobody is turned away by what is given back at once',
    },
  },
}

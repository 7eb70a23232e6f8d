/** @type {Record<string, import('../../build/mutation.mjs').Mutant>} */
export const checkMutants = {
  'any-eviction-policy-will-do': {
    file: 'packages/holdfast/src/stores/redis/hazards.ts',
    text: "if (policy === 'noeviction') {",
    replacement: "if (policy !== '') {",
    caughtBy: {
      file: 'packages/lab/test/check/check.test.ts',
      test: 'a server that is not > an eviction policy other than noeviction is told; with a limit it is a danger',
    },
  },
  'danger-is-ok': {
    file: 'packages/holdfast/src/check/report.ts',
    text: "severity !== 'danger'",
    replacement: "severity !== 'fatal'",
    caughtBy: {
      file: 'packages/lab/test/check/check.test.ts',
      test: 'a server that is not > an eviction policy other than noeviction is told; with a limit it is a danger',
    },
  },
  'missing-replicas-are-not-told': {
    file: 'packages/holdfast/src/stores/redis/acknowledge-hazards.ts',
    text: 'if (count < replicas) {',
    replacement: 'if (count < 0) {',
    caughtBy: {
      file: 'packages/lab/test/check/acknowledge.test.ts',
      test: 'fewer connected than are set up: a warning; fewer than must have a grant: a danger; more than are counted: a danger',
    },
  },
}

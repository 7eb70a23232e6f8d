/**
 * The library broken on purpose. Each entry must be caught by the test it names; test/mutants.test.ts proves it.
 * @type {Record<string, import('../build/mutation.mjs').Mutant>}
 */
export const mutants = {
  'woken-stands-back': {
    file: 'packages/holdfast/src/lock/contention.ts',
    text: 'yield: standsBack && !woken',
    replacement: 'yield: standsBack',
    caughtBy: {
      file: 'packages/holdfast/src/lock/hand-over.test.ts',
      test: 'a process that is woken soon after its own release takes the lock, and does not stand back',
    },
  },
}

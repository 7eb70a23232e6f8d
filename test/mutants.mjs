/**
 * The library broken on purpose. Each entry must be caught by the test it names; test/mutants.test.ts proves it.
 * @type {Record<string, import('../build/mutation.mjs').Mutant>}
 */
export const mutants = {}

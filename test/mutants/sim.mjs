const SEARCH = 'packages/lab/test/sim/search.test.ts'
const SEEDS = 'packages/lab/test/sim/seeds.test.ts'
const WITHIN_THE_BOUND = 'finds nothing wrong with what is shipped, within the small bound'

/**
 * Rules of the protocol that only the simulator sees broken. Each entry must be caught by the test it names.
 * @type {Record<string, import('../../build/mutation.mjs').Mutant>}
 */
export const simMutants = {
  'mine-without-a-new-expiry': {
    file: 'packages/holdfast/src/stores/redis/lua/acquire.lua',
    text: "local reply = redis.pcall('PEXPIRE', lock, digits(math.max(left, tonumber(ttl))))",
    replacement: 'local reply = left',
    caughtBy: { file: SEARCH, test: `the search acquire > ${WITHIN_THE_BOUND}` },
  },
  'last-fence-forgotten-too-early': {
    file: 'packages/holdfast/src/stores/redis/lua/shared/fence.lua',
    text: 'local expiry = math.max(now, math.floor(fence / 1000)) + retention',
    replacement: 'local expiry = now + retention',
    caughtBy: { file: SEARCH, test: `the search fence > ${WITHIN_THE_BOUND}` },
  },
  'no-drift-allowance': {
    file: 'packages/holdfast/src/defaults.ts',
    text: 'return ttl * bounds.driftShare + bounds.driftFloor',
    replacement: 'return 0 * ttl',
    caughtBy: { file: SEEDS, test: 'scenario exclusive > 120 schedules keep every invariant' },
  },
}

import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

/**
 * Goal: the simulator notices that the library is broken. Method: some mutants of test/mutants, each with one seed that shows it,
 * in a process of its own; without them `seeds.test.ts` runs the same schedules. `npm run sim -- --mutants` looks for all.
 */

const MINUTE = 60_000
const root = fileURLToPath(new URL('../../../..', import.meta.url))

interface Report {
  readonly totals: {
    readonly firstFailures: readonly { readonly invariants: readonly string[] }[]
  }
}

function simulate(mutant: string, scenario: string, seed: number): Promise<Report> {
  const args = ['--import', './build/register.mjs', 'packages/lab/src/sim/main.ts', '--json']
  const asked = ['--scenario', scenario, '--from', String(seed), '--seeds', '1']
  const env = { ...process.env, HOLDFAST_MUTANT: mutant }
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [...args, ...asked], { cwd: root, env }, (error, stdout, stderr) => {
      if (stdout === '') reject(error ?? new Error(stderr))
      else resolve(JSON.parse(stdout) as Report)
    })
  })
}

test.each([
  ['bare-del', 'hand-over', 3, 'INV-M1'],
  ['no-deadline-check', 'hand-over', 3, 'INV-M2'],
  ['incr-fence', 'failover', 4, 'INV-F1'],
  ['denials-remembered-for-ever', 'limits', 53, 'INV-R1'],
  ['run-that-goes-on-is-taken-over-on-redis', 'once', 6, 'INV-J1'],
])('%s is noticed in %s by seed %i', { timeout: MINUTE }, async (mutant, scenario, seed, invariant) => {
  const { totals } = await simulate(mutant, scenario, seed)
  expect(totals.firstFailures[0]?.invariants).toContain(invariant)
})

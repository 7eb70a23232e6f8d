import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { ensurePackages } from './bootstrap/packages.mjs'
import { ensureRedis, redisHint } from './bootstrap/redis.mjs'
import { CannotStart, endWithChildren, root, run, say } from './bootstrap/run.mjs'
import { ensureSqlServers } from './bootstrap/sql-servers.mjs'

/**
 * `npm test`: gets what the tests need, then builds, checks types, lints, checks the format and runs every test.
 * `npm test -- path/of.test.ts -t name` passes the rest on to Vitest, and runs that alone.
 * Its last line is `N passed, N failed`, and its exit code is 0 only when something passed and nothing failed.
 */

/** With a Redis server that is not ours, only what leaves it as it was. Parts of paths, as Vitest filters files. */
const SAFE_FOR_A_GIVEN_SERVER = [
  'packages/holdfast/',
  'packages/lab/test/contract',
  'test/tidy',
  'test/packaging',
]

/** What stops or freezes a database server of its own; left out where only one of somebody else's is there. */
const NEEDS_OWN_SQL_SERVER = [
  'packages/lab/test/kit/sql-servers.test.ts',
  'packages/lab/test/postgres/**',
  'packages/lab/test/mysql/!(contract).test.ts',
  '**/own-server/**',
]

/** @typedef {{ passed: number, failed: number }} Totals */

endWithChildren()
const forVitest = process.argv.slice(2)
/** @type {Totals} */
const totals = { passed: 0, failed: 0 }

try {
  await ensurePackages()
  const redis = await ensureRedis()
  if (redis === null) throw new CannotStart(redisHint)
  const sql = await ensureSqlServers()
  if (sql.missing.length > 0) throw new CannotStart(sql.missing.join('\n'))
  /** @type {Promise<(() => void)[]>} */
  let checks = Promise.resolve([])
  if (forVitest.length === 0) {
    const tell = await step('build', 'npm', ['run', '-s', 'build'])
    tell()
    // Beside the tests, which wait more than they work, and told after them.
    checks = Promise.all([
      step('types', bin('tsc'), ['-p', 'tsconfig.json'], { yields: true }),
      step('lint', bin('eslint'), ['.', '--max-warnings', '0'], { yields: true }),
      step('format', bin('prettier'), ['--check', '.'], { yields: true }),
    ])
    if (redis === 'given')
      say('HOLDFAST_REDIS_URL is used: tests that start, stop or configure servers are left out.')
  }
  const leftOut = sql.given.length > 0 ? NEEDS_OWN_SQL_SERVER.flatMap((path) => ['--exclude', path]) : []
  if (leftOut.length > 0)
    say(`A given ${sql.given.join(' and ')} is used: tests that stop servers are left out.`)
  const chosen = forVitest.length > 0 ? forVitest : redis === 'given' ? SAFE_FOR_A_GIVEN_SERVER : []
  await vitest(chosen, leftOut)
  for (const tell of await checks) tell()
} catch (error) {
  totals.failed += 1
  say(error instanceof CannotStart ? error.message : String(error instanceof Error ? error.stack : error))
}
if (totals.passed + totals.failed === 0) totals.failed = 1
process.exitCode = totals.failed === 0 ? 0 : 1
console.log(`${totals.passed} passed, ${totals.failed} failed`)

/** @param {string} name */
function bin(name) {
  return join(root, 'node_modules/.bin', name)
}

/**
 * One command that counts as one test.
 * @param {string} name
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ yields?: boolean }} options
 * @returns {Promise<() => void>} tells how it ended; what it wrote only when it failed
 */
async function step(name, command, args, options = {}) {
  const started = Date.now()
  const { code, output } = await run(command, args, { output: 'keep', ...options })
  const took = ((Date.now() - started) / 1000).toFixed(1)
  totals[code === 0 ? 'passed' : 'failed'] += 1
  return () => {
    if (code !== 0) console.log(output.trimEnd())
    console.log(`${code === 0 ? '✓' : '✗'} ${name} (${took} s)`)
  }
}

/** @param {readonly string[]} args what the user chose @param {readonly string[]} more further arguments */
async function vitest(args, more) {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-test-'))
  const report = join(folder, 'report.json')
  try {
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
    const all = ['run', '--silent=passed-only', ...reporters, ...args, ...more]
    // What tests put into the temporary folder goes with ours, also when they were cut short.
    // In a whole run every test that a mutant names is run without it anyhow.
    const env = { ...process.env, TMPDIR: folder, HOLDFAST_WHOLE_RUN: args.length === 0 ? '1' : '' }
    const { code } = await run(bin('vitest'), all, { output: 'show', env })
    const { passed, failed } = readTotals(report)
    totals.passed += passed
    totals.failed += failed
    // An error outside of any test, or a run that was cut short: Vitest says so by its exit code alone.
    if (code !== 0 && failed === 0) totals.failed += 1
  } finally {
    removeOrSay(folder)
  }
}

/** A server that was just killed may still write: what is left then does not make the tests fail. @param {string} folder */
function removeOrSay(folder) {
  for (let tries = 1; tries <= 20; tries += 1) {
    try {
      return rmSync(folder, { recursive: true, force: true, maxRetries: 2, retryDelay: 100 })
    } catch (error) {
      if (tries === 20) say(`${folder} is left: ${String(error)}`)
    }
  }
}

/**
 * @typedef {object} Report the part of Vitest's JSON report that we read
 * @property {number} numPassedTests
 * @property {number} numFailedTests
 * @property {{ name: string, status: string, message: string, assertionResults: { status: string }[] }[]} testResults
 */

/**
 * @param {string} path
 * @returns {Totals} a file that failed to load counts as failed, and so does a run without any test
 */
function readTotals(path) {
  /** @type {Report} */
  let report
  try {
    report = JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    say('Vitest left no report.')
    return { passed: 0, failed: 1 }
  }
  const failedFiles = report.testResults.filter(
    (file) => file.status === 'failed' && file.assertionResults.every((test) => test.status !== 'failed'),
  )
  for (const file of failedFiles) say(`${relative(root, file.name)} failed outside of its tests`)
  const failed = report.numFailedTests + failedFiles.length
  return { passed: report.numPassedTests, failed: failed + (report.numPassedTests + failed === 0 ? 1 : 0) }
}

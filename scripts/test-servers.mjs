import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { CannotStart, endWithChildren, root, run, say } from './bootstrap/run.mjs'

/**
 * `npm run test:servers`: the tests that show what a store does on a server, on programs that environment variables name, to see
 * whether it keeps its promises on another version. What follows `--` is passed on to Vitest.
 */

const lab = 'packages/lab/test'

/** What each variable names, and which tests then run on it. Parts of paths, as Vitest filters files. */
const servers = [
  {
    variable: 'HOLDFAST_REDIS_PROGRAM',
    program: (/** @type {string} */ named) => named,
    tests: [
      ...['acquiring', 'check', 'cluster', 'failover', 'faults', 'holding', 'limits', 'once'],
      ...['quorum', 'scripts', 'waiting', 'histories', 'sim/server-', 'lock-all/redis', 'guards/redis'],
      ...['redis', 'limit-redis', 'once-redis', 'lock-cluster', 'limit-cluster', 'once-cluster'].map(
        (contract) => `contract/${contract}`,
      ),
    ],
  },
  {
    variable: 'HOLDFAST_MYSQL_PROGRAM',
    program: (/** @type {string} */ named) => named,
    tests: ['mysql', 'transactional/mysql', 'guards/mysql', 'lock-all/stores'],
  },
  {
    variable: 'HOLDFAST_POSTGRES_PROGRAMS',
    program: (/** @type {string} */ named) => join(named, 'postgres'),
    tests: ['postgres', 'transactional/postgres', 'guards/postgres', 'lock-all/stores'],
  },
]

endWithChildren()
try {
  const named = servers.filter(({ variable }) => (process.env[variable] ?? '') !== '')
  if (named.length === 0)
    throw new CannotStart(
      'Name what the tests are to run on: HOLDFAST_REDIS_PROGRAM (a redis-server or valkey-server), HOLDFAST_MYSQL_PROGRAM ' +
        '(a mysqld or mariadbd), HOLDFAST_POSTGRES_PROGRAMS (a folder with initdb and postgres).',
    )
  for (const { variable, program } of named) {
    const path = program(process.env[variable] ?? '')
    say(`${variable}: ${execFileSync(path, ['--version'], { encoding: 'utf8' }).trim()}`)
  }
  const tests = [...new Set(named.flatMap((server) => server.tests))].map((test) => `${lab}/${test}`)
  const all = [join(root, 'scripts/test.mjs'), ...tests, ...process.argv.slice(2)]
  process.exitCode = (await run(process.execPath, all, { output: 'show' })).code
} catch (error) {
  say(error instanceof Error ? error.message : String(error))
  process.exitCode = 1
}

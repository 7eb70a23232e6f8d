import { mysqlProgram, postgresFolder } from '../../packages/lab/src/servers/sql-programs.mjs'
import { aptInstall, canUseApt } from './apt.mjs'
import { run, say } from './run.mjs'

/** The database servers that the tests start by themselves. */

/**
 * @typedef {object} SqlServer
 * @property {string} name
 * @property {() => string | null} find where its programs lie
 * @property {string} variable names a server that may be used instead
 * @property {() => Promise<void>} install where we may install packages
 * @property {string} hint what to tell a user who has none
 */

/** @type {readonly SqlServer[]} */
const servers = [
  {
    name: 'Postgres',
    find: postgresFolder,
    variable: 'HOLDFAST_POSTGRES_URL',
    install: installPostgres,
    hint:
      'The programs initdb and postgres were found neither on PATH nor where systems put them. ' +
      'Debian, Ubuntu: apt-get install postgresql. Fedora: dnf install postgresql-server. Alpine: apk add postgresql. ' +
      'macOS: brew install postgresql. Or set HOLDFAST_POSTGRES_URL (postgres://user:password@host:port/database) to a ' +
      'database that may be used: only tables under fresh names are made there, and dropped again.',
  },
  {
    name: 'MariaDB',
    find: mysqlProgram,
    variable: 'HOLDFAST_MYSQL_URL',
    install: installMariadb,
    hint:
      'The program mariadbd was found neither on PATH nor where systems put it. ' +
      'Debian, Ubuntu: apt-get install mariadb-server. Fedora: dnf install mariadb-server. Alpine: apk add mariadb. ' +
      'macOS: brew install mariadb. Or set HOLDFAST_MYSQL_URL (mysql://user:password@host:port/database) to a MariaDB ' +
      'or MySQL database that may be used: only tables under fresh names are made there, and dropped again.',
  },
]

/**
 * Makes sure that Postgres and MariaDB can be started, or that a database of each is named, and installs them where we
 * may.
 * @returns {Promise<{ given: string[], missing: string[] }>} `given`: the names of those of which only the database of the
 * environment variable is there, which is not ours to stop; `missing`: for each that is not there at all, what to do
 */
export async function ensureSqlServers() {
  const given = []
  const missing = []
  for (const { name, find, variable, install, hint } of servers) {
    if (find() !== null) continue
    if ((process.env[variable] ?? '') !== '') {
      given.push(name)
      continue
    }
    if (canUseApt()) await install()
    if (find() === null) missing.push(hint)
  }
  return { given, missing }
}

/** Debian makes a cluster of what it installs and starts it, now and at every boot. We want the programs only. */
async function installPostgres() {
  if (!(await aptInstall(['postgresql']))) return
  const stop = await run('service', ['postgresql', 'stop'], { output: 'keep' })
  const disable = await run('update-rc.d', ['postgresql', 'disable'], { output: 'keep' })
  if (stop.code !== 0 || disable.code !== 0) {
    say(`The postgresql service may have been left running.\n${stop.output}${disable.output}`)
  }
}

/** The core package has the programs without the service. */
async function installMariadb() {
  await aptInstall(['mariadb-server-core'])
}

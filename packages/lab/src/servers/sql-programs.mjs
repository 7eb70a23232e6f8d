/**
 * Where the database servers' programs lie. Plain JavaScript on Node built-ins alone, since the scripts that install
 * them ask too, before anything else is installed.
 */

import { accessSync, constants, readdirSync, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Debian puts Postgres into a folder of its version, off the PATH. A star stands for any name; the newest comes first. */
const POSTGRES_FOLDERS = [
  '/usr/lib/postgresql/*/bin',
  '/usr/pgsql-*/bin',
  '/usr/local/pgsql/bin',
  '/opt/homebrew/opt/postgresql@*/bin',
  '/usr/local/opt/postgresql@*/bin',
  '/Applications/Postgres.app/Contents/Versions/*/bin',
]

/** An ordinary user's PATH leaves out the folders of the system's own programs. */
const MARIADB_FOLDERS = [
  '/usr/sbin',
  '/usr/local/sbin',
  '/usr/libexec',
  '/usr/local/mysql/bin',
  '/opt/homebrew/opt/mariadb/bin',
  '/usr/local/opt/mariadb/bin',
]

/** The folder that holds both `initdb` and `postgres`: the one that HOLDFAST_POSTGRES_PROGRAMS names, or where systems put it; or null. */
export function postgresFolder() {
  const named = process.env['HOLDFAST_POSTGRES_PROGRAMS'] ?? ''
  if (named !== '') return named
  const folders = [...pathFolders(), ...POSTGRES_FOLDERS.flatMap(expanded)]
  return (
    folders.find((folder) => ['initdb', 'postgres'].every((name) => isProgram(join(folder, name)))) ?? null
  )
}

/** The full path of the `mysqld` or `mariadbd` that HOLDFAST_MYSQL_PROGRAM names, or else of `mariadbd`; or null. */
export function mysqlProgram() {
  const named = process.env['HOLDFAST_MYSQL_PROGRAM'] ?? ''
  return named !== '' ? named : mariadbProgram()
}

/** The full path of `mariadbd`, or null. */
export function mariadbProgram() {
  const folders = [...pathFolders(), ...MARIADB_FOLDERS]
  return folders.map((folder) => join(folder, 'mariadbd')).find(isProgram) ?? null
}

function pathFolders() {
  return (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '')
}

/** @param {string} path */
function isProgram(path) {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

/**
 * @param {string} pattern a path with at most one star
 * @returns {string[]} what exists of it, highest version first
 */
function expanded(pattern) {
  const star = pattern.indexOf('*')
  if (star === -1) return [pattern]
  const slash = pattern.lastIndexOf('/', star) + 1
  const [parent, prefix] = [pattern.slice(0, slash), pattern.slice(slash, star)]
  try {
    const names = readdirSync(parent).filter((name) => name.startsWith(prefix))
    const byVersion = names.sort((a, b) => b.localeCompare(a, 'en', { numeric: true }))
    return byVersion.map((name) => parent + name + pattern.slice(star + 1))
  } catch {
    return []
  }
}

import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { aptInstall, canUseApt } from './apt.mjs'
import { CannotStart, onPath, root, run, say } from './run.mjs'

/** The npm packages of this repository, and the compiler that one of them needs. */

/**
 * Makes sure that node_modules is what package-lock.json says and that the native package in it loads.
 * @throws {CannotStart}
 */
export async function ensurePackages() {
  const stale = whyStale()
  if (stale !== null) {
    say(`${stale}: npm ci … (better-sqlite3 may be compiled, which takes a minute or two)`)
    await ensureCompiler()
    await npm(['ci', '--no-audit', '--no-fund'])
  }
  if ((await loadSqlite()).code === 0) return
  say('better-sqlite3 does not load in this Node.js: npm rebuild better-sqlite3 …')
  await ensureCompiler()
  await npm(['rebuild', 'better-sqlite3'])
  const { code, output } = await loadSqlite()
  if (code !== 0)
    throw new CannotStart(`better-sqlite3 does not load, even after a rebuild:\n${output.trimEnd()}`)
}

/** @returns {string | null} why packages must be installed, or null */
function whyStale() {
  const installedLock = join(root, 'node_modules/.package-lock.json')
  if (!existsSync(installedLock)) return 'no packages are installed yet'
  const wanted = packagesOf(join(root, 'package-lock.json'))
  const installed = packagesOf(installedLock)
  for (const [path, entry] of Object.entries(wanted)) {
    if (!path.includes('node_modules/')) continue
    const there = installed[path]
    // npm leaves out what is for another system, and lists it in package-lock.json all the same.
    if (there === undefined && entry.optional === true) continue
    const same = there?.version === entry.version && there?.integrity === entry.integrity
    if (!same || !existsSync(join(root, path))) return `${path} is not as in package-lock.json`
  }
  return null
}

/**
 * @param {string} lockFile
 * @returns {Record<string, { version?: string, integrity?: string, optional?: boolean }>}
 */
function packagesOf(lockFile) {
  return JSON.parse(readFileSync(lockFile, 'utf8')).packages
}

/** In a process of its own: a binary made for another Node.js may end the process that loads it. */
function loadSqlite() {
  const script = "new (require('better-sqlite3'))(':memory:').close()"
  return run(process.execPath, ['-e', script], { output: 'keep' })
}

/** @param {readonly string[]} args @throws {CannotStart} */
async function npm(args) {
  const { code, output } = await run('npm', args, { output: 'keep', env: environmentOfNpm() })
  if (code === 0) return
  const missing = missingTools()
  const hint = missing.length === 0 ? '' : `\n${compilerHint(missing)}`
  throw new CannotStart(`npm ${args.join(' ')} failed:\n${output.trimEnd()}${hint}`)
}

function environmentOfNpm() {
  // `npm run -s` would silence the npm that runs inside it, and with it the reason why it failed.
  /** @type {NodeJS.ProcessEnv} */
  const env = { ...process.env, npm_config_loglevel: 'warn' }
  // Node's own header files, when they came with it: a native package is then built without a download.
  const home = dirname(dirname(process.execPath))
  if (existsSync(join(home, 'include/node/node.h'))) env['npm_config_nodedir'] = home
  return env
}

/** better-sqlite3 is compiled where no ready binary can be downloaded. */
async function ensureCompiler() {
  if (missingTools().length > 0 && canUseApt()) await aptInstall(['g++', 'make', 'python3'])
  const missing = missingTools()
  // Go on all the same: where a ready binary can be had, none of them is needed.
  if (missing.length > 0) say(compilerHint(missing))
}

function missingTools() {
  const tools = {
    'a C++ compiler': ['c++', 'g++', 'clang++'],
    make: ['make', 'gmake'],
    python3: ['python3', 'python'],
  }
  return Object.entries(tools)
    .filter(([, programs]) => programs.every((program) => onPath(program) === null))
    .map(([tool]) => tool)
}

/** @param {readonly string[]} missing */
function compilerHint(missing) {
  return (
    `To compile better-sqlite3, ${missing.join(' and ')} must be on PATH, and ${missing.length > 1 ? 'are' : 'is'} not. ` +
    'Debian, Ubuntu: apt-get install g++ make python3. Fedora: dnf install gcc-c++ make python3. ' +
    'Alpine: apk add g++ make python3. macOS: xcode-select --install.'
  )
}

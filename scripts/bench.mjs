import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ensurePackages } from './bootstrap/packages.mjs'
import { ensureRedis, redisHint } from './bootstrap/redis.mjs'
import { CannotStart, endWithChildren, root, run, say } from './bootstrap/run.mjs'

/** `npm run bench [-- --quick]`: gets what the benchmark needs, builds the library, then measures it. */

const COULD_NOT_START = 2

endWithChildren()

try {
  await ensurePackages()
  // A given server is not enough: the figures are those of one of our own, on this machine, that does nothing else.
  if ((await ensureRedis()) !== 'own') throw new CannotStart(redisHint.split(' Or set ')[0])
  await ensurePeers()
  await build()
  const loader = ['--import', join(root, 'build/register.mjs')]
  const main = join(root, 'bench/main.ts')
  const { code } = await run(process.execPath, [...loader, main, ...process.argv.slice(2)], {
    output: 'show',
  })
  process.exitCode = code
} catch (error) {
  if (!(error instanceof CannotStart)) throw error
  say(error.message)
  process.exitCode = COULD_NOT_START
}

/** The clients and locks that are compared with, in a folder of their own, since only the benchmark needs them. */
async function ensurePeers() {
  if (peersAreThere()) return
  say('installing what the benchmark compares with: npm ci in bench/ …')
  const { code, output } = await run('npm', ['ci'], { output: 'keep', cwd: join(root, 'bench') })
  if (code !== 0) throw new CannotStart(`npm ci in bench/ failed:\n${output.trimEnd()}`)
}

function peersAreThere() {
  const installed = join(root, 'bench/node_modules/.package-lock.json')
  if (!existsSync(installed)) return false
  const wanted = versionsOf(join(root, 'bench/package-lock.json'))
  const there = versionsOf(installed)
  return Object.entries(wanted).every(([path, version]) => path === '' || there[path] === version)
}

/** @param {string} lockFile @returns {Record<string, string | undefined>} version by path */
function versionsOf(lockFile) {
  /** @type {{ packages: Record<string, { version?: string }> }} */
  const { packages } = JSON.parse(readFileSync(lockFile, 'utf8'))
  return Object.fromEntries(Object.entries(packages).map(([path, { version }]) => [path, version]))
}

async function build() {
  say('building the library …')
  const { code, output } = await run('npm', ['run', '-s', 'build'], { output: 'keep' })
  if (code !== 0) throw new CannotStart(`the library does not build:\n${output.trimEnd()}`)
}

import { join } from 'node:path'
import { ensurePackages } from './bootstrap/packages.mjs'
import { ensureRedis } from './bootstrap/redis.mjs'
import { CannotStart, endWithChildren, root, run, say } from './bootstrap/run.mjs'

/** `npm run demo [-- --json] [-- --store redis|sqlite]`: gets what the demo needs, then runs it. */

const COULD_NOT_START = 2

endWithChildren()
const args = process.argv.slice(2)
const storeIsGiven = args.some((arg) => arg === '--store' || arg.startsWith('--store='))
const wantsSqlite = storeIsGiven && args.some((arg) => arg === 'sqlite' || arg === '--store=sqlite')

try {
  await ensurePackages()
  const redis = wantsSqlite ? null : await ensureRedis()
  if (redis === null && !storeIsGiven) {
    say('No Redis server can be had here: the demo runs on SQLite instead.')
    args.push('--store', 'sqlite')
  }
  const loader = ['--import', join(root, 'build/register.mjs')]
  const main = join(root, 'packages/lab/src/demo/main.ts')
  const { code } = await run(process.execPath, [...loader, main, ...args], { output: 'show' })
  process.exitCode = code
} catch (error) {
  if (!(error instanceof CannotStart)) throw error
  say(error.message)
  process.exitCode = COULD_NOT_START
}

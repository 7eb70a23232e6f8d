import { join } from 'node:path'
import { ensurePackages } from './bootstrap/packages.mjs'
import { ensureRedis } from './bootstrap/redis.mjs'
import { CannotStart, endWithChildren, root, run, say } from './bootstrap/run.mjs'

/** `npm run demo [-- coupons|payment|limit …] [-- --json] [-- --store redis|sqlite]`: gets what it needs, then runs it. */

const COULD_NOT_START = 2

endWithChildren()
const args = process.argv.slice(2)
const wantsSqlite = args.includes('--store=sqlite') || args[args.indexOf('--store') + 1] === 'sqlite'

try {
  await ensurePackages()
  // Without a server the demo itself falls back to SQLite, and says so.
  if (!wantsSqlite) await ensureRedis()
  const loader = ['--import', join(root, 'build/register.mjs')]
  const main = join(root, 'packages/lab/src/demo/main.ts')
  const { code } = await run(process.execPath, [...loader, main, ...args], { output: 'show' })
  process.exitCode = code
} catch (error) {
  if (!(error instanceof CannotStart)) throw error
  say(error.message)
  process.exitCode = COULD_NOT_START
}

import { aptInstall, canUseApt } from './apt.mjs'
import { onPath, run, say } from './run.mjs'

/** The Redis server that the tests and the demo start by themselves. */

/**
 * Makes sure that `redis-server` is on PATH or another program is named, and installs it where we may.
 * @returns {Promise<'own' | 'given' | null>} `own`: servers can be started; `given`: only the one of
 * HOLDFAST_REDIS_URL is there, which is not ours to configure, empty or stop; null: none at all
 */
export async function ensureRedis() {
  if ((process.env['HOLDFAST_REDIS_PROGRAM'] ?? '') !== '' || onPath('redis-server') !== null) return 'own'
  if ((process.env['HOLDFAST_REDIS_URL'] ?? '') !== '') return 'given'
  if (canUseApt()) await installByApt()
  return onPath('redis-server') === null ? null : 'own'
}

/** What to tell a user who has none. */
export const redisHint =
  'There is no redis-server on PATH. Debian, Ubuntu: apt-get install redis-server. Fedora: dnf install redis. ' +
  'Alpine: apk add redis. macOS: brew install redis. ' +
  'Or set HOLDFAST_REDIS_URL (redis://host:port) to a server that may be used: only keys under a fresh prefix are touched.'

/** Debian starts the service of what it installs, now and at every boot. We want the program only. */
async function installByApt() {
  if (!(await aptInstall(['redis-server']))) return
  const stop = await run('service', ['redis-server', 'stop'], { output: 'keep' })
  const disable = await run('update-rc.d', ['redis-server', 'disable'], { output: 'keep' })
  if (stop.code !== 0 || disable.code !== 0) {
    say(`The redis-server service may have been left running.\n${stop.output}${disable.output}`)
  }
}

import { onPath, run, say } from './run.mjs'

/** Debian and Ubuntu packages, where we may install them. */

/** Whether packages can be installed here without asking anybody. */
export function canUseApt() {
  return process.getuid?.() === 0 && onPath('apt-get') !== null && onPath('dpkg') !== null
}

/**
 * @param {readonly string[]} packages
 * @returns {Promise<boolean>} false, with the reason told, when they could not be installed
 */
export async function aptInstall(packages) {
  say(`installing ${packages.join(', ')} by apt-get …`)
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const wait = ['-o', 'DPkg::Lock::Timeout=120']
  const install = () =>
    run('apt-get', ['install', '-y', '-q', '--no-install-recommends', ...wait, ...packages], {
      output: 'keep',
      env,
    })

  // The package lists of a fresh machine are missing or old: bring them up to date when they do not do.
  let ended = await install()
  if (ended.code !== 0) {
    await run('apt-get', ['update', '-q', ...wait], { output: 'keep', env })
    ended = await install()
  }
  if (ended.code !== 0) say(`apt-get could not install ${packages.join(', ')}:\n${ended.output.trimEnd()}`)
  return ended.code === 0
}

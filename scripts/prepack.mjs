import { cpSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { spawnSync } from 'node:child_process'

/** Runs before `npm pack` and `npm publish` of the library: builds it, and lays README and LICENSE beside it. */

const root = fileURLToPath(new URL('..', import.meta.url))
const { status } = spawnSync('npm', ['run', '-s', 'build'], { cwd: root, stdio: ['ignore', 2, 2] })
if (status !== 0) process.exit(1)
for (const file of ['README.md', 'LICENSE']) cpSync(`${root}/${file}`, `${root}/packages/holdfast/${file}`)

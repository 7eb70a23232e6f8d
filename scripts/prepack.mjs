import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { spawnSync } from 'node:child_process'

/**
 * Runs before `npm pack` and `npm publish` of the library: builds it, and lays README, LICENSE, changes and guides beside it. Their links
 * into the rest of this repository lead nowhere there, and become plain text.
 */

const root = fileURLToPath(new URL('..', import.meta.url))
const library = join(root, 'packages/holdfast')
const { status } = spawnSync('npm', ['run', '-s', 'build'], { cwd: root, stdio: ['ignore', 2, 2] })
if (status !== 0) process.exit(1)

rmSync(join(library, 'docs'), { recursive: true, force: true })
for (const file of ['README.md', 'LICENSE', 'CHANGELOG.md', 'docs'])
  cpSync(join(root, file), join(library, file), { recursive: true })

const guides = readdirSync(join(library, 'docs'), { recursive: true }).map((file) =>
  join('docs', String(file)),
)
for (const file of ['README.md', 'CHANGELOG.md', ...guides].filter((name) => name.endsWith('.md'))) {
  const path = join(library, file)
  const isThere = (/** @type {string} */ target) => existsSync(join(dirname(path), target.replace(/#.*/, '')))
  const text = readFileSync(path, 'utf8').replace(
    /!?\[([^\]]*)\]\((?!https?:|#)([^)]+)\)/g,
    (/** @type {string} */ link, /** @type {string} */ words, /** @type {string} */ target) =>
      isThere(target) ? link : link.startsWith('!') ? '' : words,
  )
  writeFileSync(path, text)
}

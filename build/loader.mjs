import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve as resolvePath } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { luaModule } from './lua.mjs'
import { mutate, root } from './mutation.mjs'
import { sourceOf } from './subpaths.mjs'

/** Files are translated once: a test that starts many processes would spend most of its time on that. */
const cache = join(root, 'node_modules/.cache/holdfast')

const require = createRequire(import.meta.url)
const { version } = /** @type {{ version: string }} */ (require('esbuild/package.json'))

const settings = /** @type {const} */ ({
  loader: 'ts',
  format: 'esm',
  target: 'node20',
  sourcemap: 'inline',
  sourcesContent: false,
  tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
})

/**
 * Hooks of Node's module loader. Plain functions that return what `next…` returned, so that they serve both the
 * hooks that run in the main thread (`registerHooks`) and those in a thread of their own (`register`).
 */

/**
 * @template Context, Result
 * @param {string} specifier
 * @param {Context} context
 * @param {(specifier: string, context: Context) => Result} nextResolve
 */
export function resolve(specifier, context, nextResolve) {
  const source = sourceOf(specifier)
  if (source !== undefined) return { url: pathToFileURL(resolvePath(root, source)).href, shortCircuit: true }
  return nextResolve(specifier, context)
}

/**
 * @template Context, Result
 * @param {string} url
 * @param {Context} context
 * @param {(url: string, context: Context) => Result} nextLoad
 */
export function load(url, context, nextLoad) {
  if (!url.startsWith('file:') || url.includes('/node_modules/')) return nextLoad(url, context)
  const path = fileURLToPath(url)
  if (path.endsWith('.lua')) return { format: 'module', source: luaModule(path), shortCircuit: true }
  if (!path.endsWith('.ts')) return nextLoad(url, context)
  return {
    format: 'module',
    source: javaScript(path, mutate(path, readFileSync(path, 'utf8'))),
    shortCircuit: true,
  }
}

/** @param {string} path @param {string} source */
function javaScript(path, source) {
  const content = JSON.stringify([version, settings, path, source])
  const cached = join(cache, `${createHash('sha1').update(content).digest('hex')}.js`)
  try {
    return readFileSync(cached, 'utf8')
  } catch {
    // Loaded only when it is needed: that alone takes longer than to read what is kept.
    const { transformSync } = /** @type {typeof import('esbuild')} */ (require('esbuild'))
    const { code } = transformSync(source, { ...settings, sourcefile: path })
    keep(cached, code)
    return code
  }
}

/** Where it cannot be written, everything is translated anew each time. @param {string} path @param {string} code */
function keep(path, code) {
  try {
    mkdirSync(cache, { recursive: true })
    // Many processes start at once: none may read what another has half written.
    writeFileSync(`${path}.${process.pid}`, code)
    renameSync(`${path}.${process.pid}`, path)
  } catch {
    return
  }
}

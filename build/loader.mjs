import { readFileSync } from 'node:fs'
import { resolve as resolvePath } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { transformSync } from 'esbuild'
import { luaModule } from './lua.mjs'
import { mutate, root } from './mutation.mjs'
import { sourceOf } from './subpaths.mjs'

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
  const { code } = transformSync(mutate(path, readFileSync(path, 'utf8')), {
    loader: 'ts',
    format: 'esm',
    target: 'node20',
    sourcefile: path,
    sourcemap: 'inline',
    sourcesContent: false,
    tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
  })
  return { format: 'module', source: code, shortCircuit: true }
}

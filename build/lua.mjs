import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { mutate } from './mutation.mjs'

/**
 * Lua sources become modules: `import acquire from './lua/acquire.lua'` gives `{ name, source, sha1 }`.
 * A line `--- @include shared/reply` is replaced by the text of shared/reply.lua, looked for from the folder of
 * the script that is loaded; once per script, nested includes allowed.
 */

const INCLUDE = /^--- @include[ \t]+(\S+)[ \t]*$/gm

/**
 * @param {string} path absolute path of a `.lua` file
 * @returns {{ name: string, source: string, sha1: string, files: string[] }} `files`: all that were read
 */
export function loadLua(path) {
  /** @type {string[]} */
  const files = []
  const source = expand(path, dirname(path), files)
  const sha1 = createHash('sha1').update(source).digest('hex')
  return { name: basename(path, '.lua'), source, sha1, files }
}

/** Text of an ES module for a `.lua` file. @param {string} path */
export function luaModule(path) {
  const { name, source, sha1 } = loadLua(path)
  return `export default ${JSON.stringify({ name, source, sha1 })}\n`
}

/**
 * @param {string} path
 * @param {string} folder
 * @param {string[]} files
 * @returns {string}
 */
function expand(path, folder, files) {
  files.push(path)
  const text = mutate(path, readFileSync(path, 'utf8'))
  return text.replace(INCLUDE, (line, /** @type {string} */ included) => {
    const target = resolve(folder, `${included}.lua`)
    if (files.includes(target)) return ''
    try {
      return expand(target, folder, files).trimEnd()
    } catch (error) {
      if (!isMissing(error, target)) throw error
      throw new Error(`${path}: "${line.trim()}" names a file that does not exist: ${target}`, {
        cause: error,
      })
    }
  })
}

/** @param {unknown} error @param {string} path */
function isMissing(error, path) {
  return (
    error instanceof Error &&
    'code' in error &&
    error.code === 'ENOENT' &&
    'path' in error &&
    error.path === path
  )
}

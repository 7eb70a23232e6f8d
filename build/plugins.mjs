import { fileURLToPath } from 'node:url'
import { readFileSync } from 'node:fs'
import { luaModule, loadLua } from './lua.mjs'
import { mutate } from './mutation.mjs'

/** Vite and Rolldown plugin: `.lua` files as modules. */
export function luaPlugin() {
  return {
    name: 'holdfast:lua',
    /** @type {'pre'} */
    enforce: 'pre',
    /**
     * @this {{ addWatchFile?: (file: string) => void }}
     * @param {string} id
     */
    load(id) {
      const path = withoutQuery(id)
      if (!path.endsWith('.lua')) return null
      for (const file of loadLua(path).files) this.addWatchFile?.(file)
      // Rolldown would otherwise go by the extension, which it does not know.
      return { code: luaModule(path), moduleType: /** @type {'js'} */ ('js'), map: null }
    },
  }
}

/** Vite plugin: the mutant of HOLDFAST_MUTANT, applied to TypeScript sources. The Lua plugin does its own. */
export function mutationPlugin() {
  return {
    name: 'holdfast:mutation',
    /** @type {'pre'} */
    enforce: 'pre',
    /** @param {string} id */
    load(id) {
      const path = withoutQuery(id)
      if (
        process.env['HOLDFAST_MUTANT'] === undefined ||
        !path.endsWith('.ts') ||
        path.includes('/node_modules/')
      ) {
        return null
      }
      return { code: mutate(path, readFileSync(path, 'utf8')), map: null }
    },
  }
}

/** @param {string} id */
function withoutQuery(id) {
  return id.split('?', 1)[0] ?? id
}

/** Tests that import `fast-check` get it with a fixed seed. */
export function fixedSeedPlugin() {
  const wrapper = fileURLToPath(new URL('./fast-check.mjs', import.meta.url))
  return {
    name: 'holdfast:fixed-seed',
    enforce: /** @type {const} */ ('pre'),
    /** @param {string} source @param {string | undefined} importer */
    resolveId(source, importer) {
      return source === 'fast-check' && importer !== wrapper ? wrapper : null
    },
  }
}

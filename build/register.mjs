import * as nodeModule from 'node:module'

/**
 * `node --import ./build/register.mjs file.ts` runs TypeScript sources of this repository: types stripped,
 * `holdfast…` resolved to sources, `.lua` imports, and the mutant of HOLDFAST_MUTANT if one is set.
 */

process.setSourceMapsEnabled(true)

/** `registerHooks` came with Node 22.15; the types are those of the oldest Node that is supported. */
const { registerHooks } = /** @type {{ registerHooks?: (hooks: object) => void }} */ (
  /** @type {unknown} */ (nodeModule)
)

if (registerHooks === undefined) nodeModule.register('./loader.mjs', import.meta.url)
else registerHooks(await import('./loader.mjs'))

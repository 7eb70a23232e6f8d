import { defineConfig } from 'tsdown'
import { luaPlugin } from '../../build/plugins.mjs'
import { entryName, subpaths } from '../../build/subpaths.mjs'

export default defineConfig({
  entry: Object.fromEntries(
    Object.entries(subpaths).map(([subpath, source]) => [entryName(subpath), source]),
  ),
  format: ['esm', 'cjs'],
  platform: 'node',
  target: 'node20.19',
  dts: true,
  sourcemap: false,
  fixedExtension: false,
  plugins: [luaPlugin()],
  outputOptions: {
    // The bundler's own helpers in a file of their own: else they land in the entry that needs them, and every other
    // entry loads that one.
    codeSplitting: { groups: [{ name: 'runtime', test: /rolldown[\\/]runtime/ }] },
  },
})

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
})

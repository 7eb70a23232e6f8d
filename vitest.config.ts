import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { luaPlugin, mutationPlugin } from './build/plugins.mjs'
import { sourceOf, subpaths } from './build/subpaths.mjs'

const fromRoot = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/** The library by its public names, as exact matches: `holdfast` must not swallow `holdfast/redis`. */
const alias = Object.keys(subpaths).map((subpath) => {
  const name = 'holdfast' + subpath.slice(1)
  return { find: new RegExp(`^${name}$`), replacement: fromRoot(sourceOf(name) as string) }
})

const exclude = ['**/node_modules/**', '**/dist/**']

export default defineConfig({
  plugins: [luaPlugin(), mutationPlugin()],
  resolve: { alias },
  test: {
    pool: 'forks',
    // The groups run one after another: tests that measure time or stop servers do not share the machine with the rest.
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['packages/*/src/**/*.test.ts'],
          exclude,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'servers',
          include: ['packages/lab/test/**/*.test.ts'],
          exclude,
          testTimeout: 60_000,
          hookTimeout: 60_000,
          // A few files at a time, each with servers of its own: they wait far more than they work.
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'repo',
          include: ['test/**/*.test.ts'],
          exclude: [...exclude, 'test/consumers/**'],
          testTimeout: 60_000,
          hookTimeout: 300_000,
          fileParallelism: false,
          // Mutants start processes of their own, two at a time.
          maxConcurrency: 2,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
})

import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { fixedSeedPlugin, luaPlugin, mutationPlugin } from './build/plugins.mjs'
import { SlowestFirst } from './build/slowest-first.mjs'
import { sourceOf, subpaths } from './build/subpaths.mjs'

const fromRoot = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/** The library by its public names, as exact matches: `holdfast` must not swallow `holdfast/redis`. */
const alias = Object.keys(subpaths).map((subpath) => {
  const name = 'holdfast' + subpath.slice(1)
  return { find: new RegExp(`^${name}$`), replacement: fromRoot(sourceOf(name) as string) }
})

const exclude = ['**/node_modules/**', '**/dist/**']

export default defineConfig({
  plugins: [luaPlugin(), mutationPlugin(), fixedSeedPlugin()],
  resolve: { alias },
  test: {
    pool: 'forks',
    sequence: { sequencer: SlowestFirst },
    // The groups run one after another: tests that measure time or stop servers do not share the machine with the rest.
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['packages/*/src/**/*.test.ts'],
          exclude,
          // Nothing in them outlives a test; a process for each file took more of the processor than the tests themselves.
          isolate: false,
          maxWorkers: 2,
          // Some work through hundreds of thousands of records: a second here, many on a busy machine.
          testTimeout: 60_000,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'servers',
          include: ['packages/lab/test/**/*.test.ts'],
          exclude,
          // Bounds for what hangs. What a test promises about time it asserts itself.
          testTimeout: 120_000,
          hookTimeout: 180_000,
          // A few files at a time, each with servers of its own: they wait far more than they work.
          maxWorkers: 6,
          maxConcurrency: 8,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'repo',
          include: ['test/**/*.test.ts'],
          exclude: [...exclude, 'test/consumers/**'],
          testTimeout: 400_000,
          hookTimeout: 400_000,
          // Two files at a time, each of which starts processes of its own; mutants start two.
          maxWorkers: 2,
          maxConcurrency: 2,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
})

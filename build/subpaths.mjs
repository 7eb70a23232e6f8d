/**
 * The public entry points of `holdfast`: subpath -> source file, relative to packages/holdfast.
 * The bundler, Vitest and the Node loader all read this one table; test/packaging.test.ts proves that
 * `exports` in package.json and `paths` in tsconfig.base.json say the same.
 */
export const subpaths = /** @type {Record<string, string>} */ ({
  '.': 'src/index.ts',
  './memory': 'src/stores/memory/index.ts',
  './redis': 'src/stores/redis/index.ts',
  './quorum': 'src/stores/quorum/index.ts',
  './sqlite': 'src/stores/sqlite/index.ts',
  './postgres': 'src/stores/postgres/index.ts',
  './mysql': 'src/stores/mysql/index.ts',
  './fence': 'src/fence/index.ts',
  './http': 'src/http/index.ts',
  './express': 'src/http/express.ts',
  './fastify': 'src/http/fastify.ts',
  './hono': 'src/http/hono.ts',
  './koa': 'src/http/koa.ts',
  './testing': 'src/testing/index.ts',
})

/**
 * Import specifier (`holdfast`, `holdfast/redis`) -> source file from the root of the repository.
 * @param {string} specifier
 * @returns {string | undefined} undefined when it is not one of ours
 */
export function sourceOf(specifier) {
  if (specifier !== 'holdfast' && !specifier.startsWith('holdfast/')) return undefined
  const source = subpaths['.' + specifier.slice('holdfast'.length)]
  return source === undefined ? undefined : `packages/holdfast/${source}`
}

/** Output name of a subpath: `.` is `index`, `./redis` is `redis`. @param {string} subpath */
export function entryName(subpath) {
  return subpath === '.' ? 'index' : subpath.slice('./'.length)
}

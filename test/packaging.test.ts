import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { entryName, subpaths } from '../build/subpaths.mjs'
import { HANGS_MS, succeed } from './commands.ts'

/**
 * Goal: what is published works for whoever installs it, in every kind of project.
 * Method: the library is packed as for publishing, and the tarball is installed into projects of each kind
 * (test/consumers), outside of this repository and with no Redis or SQLite client near.
 */

const root = fileURLToPath(new URL('..', import.meta.url))
const library = join(root, 'packages/holdfast')
const bin = (name: string) => join(root, 'node_modules/.bin', name)

interface Conditions {
  types: string
  default: string
}

interface Manifest {
  exports: Record<string, string | { import: Conditions; require: Conditions }>
  typesVersions: Record<string, Record<string, string[]>>
  [field: string]: unknown
}

const readJson = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'))
const manifest = readJson(join(library, 'package.json')) as Manifest

describe('the manifest', () => {
  test('exports exactly the subpaths that are built', () => {
    const expected: Manifest['exports'] = { './package.json': './package.json' }
    for (const subpath of Object.keys(subpaths)) {
      const file = `./dist/${entryName(subpath)}`
      expected[subpath] = {
        import: { types: `${file}.d.ts`, default: `${file}.js` },
        require: { types: `${file}.d.cts`, default: `${file}.cjs` },
      }
    }
    expect(manifest.exports).toEqual(expected)
  })

  test('helps resolvers that do not know exports to the types of every subpath', () => {
    const named = Object.keys(subpaths).filter((subpath) => subpath !== '.')
    const expected = named.map((subpath) => [entryName(subpath), [`./dist/${entryName(subpath)}.d.cts`]])
    expect(manifest.typesVersions).toEqual({ '*': Object.fromEntries(expected) as unknown })
  })

  test('agrees with the paths by which this repository checks its types', () => {
    const config = readJson(join(root, 'tsconfig.base.json')) as {
      compilerOptions: { paths: Record<string, string[]> }
    }
    const expected = Object.entries(subpaths).map(([subpath, source]) => [
      'holdfast' + subpath.slice(1),
      [`./packages/holdfast/${source}`],
    ])
    expect(config.compilerOptions.paths).toEqual(Object.fromEntries(expected))
  })

  test('asks for no other package', () => {
    const kinds = [
      'dependencies',
      'peerDependencies',
      'optionalDependencies',
      'bundleDependencies',
      'devDependencies',
    ]
    expect(kinds.filter((kind) => kind in manifest)).toEqual([])
  })
})

describe('the packed library', () => {
  let projects: string
  let tarball: string
  let installed: string

  beforeAll(async () => {
    projects = mkdtempSync(join(tmpdir(), 'holdfast-consumers-'))
    cpSync(join(root, 'test/consumers'), projects, { recursive: true })
    const packed = await succeed('npm', ['pack', '--json', '--pack-destination', projects], {
      cwd: library,
      timeoutMs: HANGS_MS,
    })
    const name = readdirSync(projects).find((file) => file.endsWith('.tgz'))
    if (name === undefined) throw new Error(`npm pack left no tarball: ${packed.stdout}`)
    tarball = join(projects, name)
    const quick = ['--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund']
    await succeed('npm', ['ci', ...quick], { cwd: projects, timeoutMs: HANGS_MS })
    await succeed('npm', ['install', '--no-save', ...quick, tarball], { cwd: projects, timeoutMs: HANGS_MS })
    installed = join(projects, 'node_modules/holdfast')
  }, 3 * HANGS_MS)

  afterAll(() => rmSync(projects, { recursive: true, force: true }))

  const inProject = (project: string) => ({ cwd: join(projects, project), timeoutMs: HANGS_MS })

  /** A link of Markdown that leads to a file, and where to. */
  const FILE_LINK = /\]\((?!https?:|#)([^)#]+)[^)]*\)/g

  test('no link of its pages leads to a file that is not there', () => {
    const pages = (readdirSync(installed, { recursive: true }) as string[]).filter((f) => f.endsWith('.md'))
    const dead: string[] = []
    let links = 0
    for (const page of pages) {
      for (const [, target = ''] of readFileSync(join(installed, page), 'utf8').matchAll(FILE_LINK)) {
        links++
        if (!existsSync(join(installed, dirname(page), target))) dead.push(`${page}: ${target}`)
      }
    }
    expect(dead).toEqual([])
    expect(links).toBeGreaterThan(20)
  })

  test('holds the built files, the guides, README, changes and LICENSE, and nothing else', () => {
    const files = (readdirSync(installed, { recursive: true }) as string[]).filter(
      (file) => !/^(dist|docs|docs[/\\]decisions)$/.test(file),
    )
    const expectedFile =
      /^(LICENSE|(README|CHANGELOG)\.md|package\.json|docs[/\\](decisions[/\\])?[\w-]+\.md|dist[/\\][\w-]+\.(js|cjs|d\.ts|d\.cts))$/
    const unexpected = files.filter((file) => !expectedFile.test(file))
    expect(unexpected).toEqual([])
    const entries = Object.keys(subpaths).map(entryName)
    const expected = entries.flatMap((entry) =>
      ['js', 'cjs', 'd.ts', 'd.cts'].map((end) => `dist/${entry}.${end}`),
    )
    expect(files).toEqual(expect.arrayContaining([...expected, 'README.md', 'LICENSE', 'package.json']))
  })

  test('imports nothing but its own files and the built-in modules of Node', () => {
    const foreign: string[] = []
    for (const file of readdirSync(join(installed, 'dist'))) {
      const text = readFileSync(join(installed, 'dist', file), 'utf8')
      for (const [, name] of text.matchAll(/\b(?:from|require\(|import\(|^import)\s*["']([^"'\n]+)["']/gm)) {
        if (name === undefined || name.startsWith('./')) continue
        if (!name.startsWith('node:') && !builtinModules.includes(name)) foreign.push(`${file}: ${name}`)
      }
    }
    expect(foreign).toEqual([])
  })

  test('no entry loads another one', () => {
    const entries = Object.keys(subpaths).map(entryName).join('|')
    const loads = new RegExp(`["']\\./(${entries})\\.c?js["']`)
    const code = readdirSync(join(installed, 'dist')).filter((file) => /\.c?js$/.test(file))
    expect(code.filter((file) => loads.test(readFileSync(join(installed, 'dist', file), 'utf8')))).toEqual([])
  })

  test('is tried where no client is installed', () => {
    const all = readdirSync(join(projects, 'node_modules'))
    expect(all.filter((name) => /redis|valkey|sqlite/.test(name))).toEqual([])
  })

  test('publint has nothing to say', async () => {
    const { stdout } = await succeed(bin('publint'), ['run', tarball, '--strict'], {
      cwd: root,
      timeoutMs: HANGS_MS,
    })
    expect(stdout).toContain('All good')
  })

  test('are-the-types-wrong has nothing to say', async () => {
    const { stdout } = await succeed(bin('attw'), [tarball, '--format', 'json'], {
      cwd: root,
      timeoutMs: HANGS_MS,
    })
    const { analysis } = JSON.parse(stdout) as { analysis: { problems: unknown[] } }
    expect(analysis.problems).toEqual([])
  })

  test('every subpath loads as ES module and as CommonJS, with the same exports', async () => {
    const { stdout } = await succeed('node', ['every-subpath.js'], inProject('esm'))
    expect(stdout).toBe('works\n')
  })

  test('works in an ES module script', async () => {
    const { stdout } = await succeed('node', ['main.js'], inProject('esm'))
    expect(stdout).toBe('works\n')
  })

  test('works in a CommonJS script', async () => {
    const { stdout } = await succeed('node', ['main.js'], inProject('cjs'))
    expect(stdout).toContain('works\n')
  })

  test('the ES module copy and the CommonJS copy work side by side', async () => {
    const { stdout } = await succeed('node', ['both-copies.js'], inProject('esm'))
    expect(stdout).toBe('works\n')
  })

  test.each(['nodenext', 'node16', 'bundler'])(
    'type-checks and runs with module resolution %s',
    async (project) => {
      const compiler = join(projects, 'node_modules/typescript/bin/tsc')
      await succeed('node', [compiler, '-p', '.'], inProject(project))
      const { stdout } = await succeed('node', ['out/main.js'], inProject(project))
      expect(stdout).toBe('works\n')
    },
  )

  test('works in a Nest service under Jest with module: commonjs', async () => {
    const jest = join(projects, 'node_modules/jest/bin/jest.js')
    const { stderr } = await succeed('node', [jest, '--ci'], inProject('nest'))
    expect(stderr).toContain('1 passed')
  })
})

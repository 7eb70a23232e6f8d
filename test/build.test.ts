import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadLua, luaModule } from '../build/lua.mjs'
import { applyMutant, mutationErrorPrefix } from '../build/mutation.mjs'
import { SLOWEST } from '../build/slowest-first.mjs'
import { sourceOf, subpaths } from '../build/subpaths.mjs'
import { cleanEnvironment, finish, HANGS_MS, succeed } from './commands.ts'

/** Goal: what loads our sources in tests and child processes does what the published build does. */

const root = fileURLToPath(new URL('..', import.meta.url))

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-build-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function write(name: string, text: string): string {
  const path = join(folder, name)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
  return path
}

describe('Lua sources', () => {
  test('includes are expanded where they stand, once, nested ones too', () => {
    write('shared/now.lua', 'local now = 1\n')
    write('shared/value.lua', '--- @include shared/now\nlocal value = now\n')
    const path = write(
      'main.lua',
      '-- Head\n--- @include shared/value\n--- @include shared/now\nreturn value\n',
    )
    const { name, source, sha1 } = loadLua(path)
    expect(name).toBe('main')
    expect(source).toBe('-- Head\nlocal now = 1\nlocal value = now\n\nreturn value\n')
    expect(sha1).toBe(createHash('sha1').update(source).digest('hex'))
  })

  test('text that looks like a replacement pattern is kept', () => {
    write('shared/odd.lua', "local a = '$&$1$$'\n")
    expect(loadLua(write('odd.lua', '--- @include shared/odd\n')).source).toContain("'$&$1$$'")
  })

  test('an include that does not exist fails, and says where', () => {
    const path = write('broken.lua', '--- @include shared/missing\n')
    expect(() => loadLua(path)).toThrow(
      /broken\.lua: "--- @include shared\/missing" names a file that does not exist/,
    )
  })

  test('become modules with name, source and SHA-1', () => {
    const path = write('one.lua', 'return 1\n')
    const { source, sha1 } = loadLua(path)
    expect(luaModule(path)).toBe(`export default ${JSON.stringify({ name: 'one', source, sha1 })}\n`)
  })
})

describe('mutants', () => {
  const mutant = { file: 'a.ts', text: 'one', replacement: '$&two' }

  test('replace the text, literally', () => {
    expect(applyMutant('m', mutant, 'a one b')).toBe('a $&two b')
  })

  test.each([
    ['none', 'a b'],
    ['two', 'one one'],
  ])('fail when the text is there other than once: %s', (_, text) => {
    expect(() => applyMutant('m', mutant, text)).toThrow(mutationErrorPrefix('m'))
  })

  test('an unknown name fails in a child process', async () => {
    const script = write('empty.ts', 'export {}\n')
    const { code, stderr } = await finish('node', ['--import', join(root, 'build/register.mjs'), script], {
      cwd: root,
      env: cleanEnvironment({ HOLDFAST_MUTANT: 'no-such-mutant' }),
      timeoutMs: HANGS_MS,
    })
    expect(code).not.toBe(0)
    expect(stderr).toContain(mutationErrorPrefix('no-such-mutant'))
  })
})

test('the files that tests begin with are there', () => {
  const files = ['packages/lab/test', 'test'].flatMap((folder) =>
    (readdirSync(join(root, folder), { recursive: true }) as string[]).map((path) => `/${folder}/${path}`),
  )
  expect(SLOWEST.filter((part) => !files.some((file) => file.includes(`/${part}`)))).toEqual([])
})

describe('the Node loader', () => {
  test('runs TypeScript in a child process, with Lua and with the library by its public names', async () => {
    write('script.lua', 'return 7\n')
    const names = Object.keys(subpaths).map((subpath) => 'holdfast' + subpath.slice(1))
    const script = write(
      'main.ts',
      [
        `import script from './script.lua'`,
        ...names.map((name, n) => `import * as n${n} from '${name}'`),
        `const sizes: number[] = [${names.map((_, n) => `Object.keys(n${n}).length`).join(', ')}]`,
        `console.log(script.source.trim(), script.name, sizes.every((size) => size > 0))`,
      ].join('\n'),
    )
    const { stdout } = await succeed('node', ['--import', join(root, 'build/register.mjs'), script], {
      cwd: folder,
      timeoutMs: HANGS_MS,
    })
    expect(stdout).toBe('return 7 script true\n')
  })

  test('knows our names only', () => {
    expect(sourceOf('holdfast')).toBe('packages/holdfast/src/index.ts')
    expect(sourceOf('holdfast/redis')).toBe('packages/holdfast/src/stores/redis/index.ts')
    for (const other of ['holdfast-lab', 'holdfast/nothing', 'ioredis', './holdfast']) {
      expect(sourceOf(other)).toBeUndefined()
    }
  })
})

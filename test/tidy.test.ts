import { dirname, posix } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { loadLua } from '../build/lua.mjs'
import { subpaths } from '../build/subpaths.mjs'
import { bounds } from '../packages/holdfast/src/defaults.ts'
import { MAX_FENCE, RESERVED_LEAD_MICROS } from '../packages/holdfast/src/store/fence.ts'
import { documents, namesInCode } from './tidy/documents.ts'
import { filesOf, isTest, libraryModules, librarySource, lineCount, read, root } from './tidy/files.ts'
import { codeOf, leadingComment, madeUpKeys, misuses, parseHeader } from './tidy/lua-header.ts'
import { publicNames, type PublicName } from './tidy/public-face.ts'
import * as rules from './tidy/source-rules.ts'

/**
 * Goal: the house rules stay true.
 * Method: each is a test over the sources as they lie here. Where a rule reads code, it reads the syntax tree.
 */

/** A file of the library is rarely longer than the first, and never longer than the second, in lines. */
const LONG_FILE = 300
const TOO_LONG_FILE = 450

const CLIENTS =
  /^(ioredis5?|redis5?|@redis\/.*|iovalkey|better-sqlite3|node:sqlite|pg|postgres|mysql2)(\/.*)?$/

const modules = libraryModules()
const everyFile = filesOf()
const scripts = [`${librarySource}/stores/redis/lua`, `${librarySource}/fence/lua`]
  .flatMap(filesOf)
  .filter((file) => file.endsWith('.lua'))

/** Runs one rule over many files; what it finds, each as `file:line what`. */
function findings(files: readonly string[], rule: (file: string, text: string) => rules.Finding[]): string[] {
  return files.flatMap((file) => rule(file, read(file)).map(({ line, what }) => `${file}:${line} ${what}`))
}

describe('the library', () => {
  test('is there', () => {
    expect(modules.length).toBeGreaterThan(0)
    expect(scripts.length).toBeGreaterThan(0)
  })

  test('reads time and chance in clock.ts only', () => {
    const others = modules.filter((file) => file !== `${librarySource}/clock.ts`)
    // Histories of several processes are joined by the one clock that all processes of a machine share.
    const shared = new RegExp(`^${librarySource}/testing/.* process\\.hrtime$`)
    expect(findings(others, rules.clockUses).filter((found) => !shared.test(found))).toEqual([])
  })

  test('writes nothing to the console', () => {
    expect(findings(modules, rules.consoleUses)).toEqual([])
  })

  test('has no type any', () => {
    expect(findings(modules, rules.anyUses)).toEqual([])
  })

  test('has no variable at the level of a module', () => {
    expect(findings(modules, rules.moduleVariables)).toEqual([])
  })

  test('imports its own files and Node, nothing else', () => {
    const foreign = modules.flatMap((file) =>
      rules
        .importsOf(file, read(file))
        .filter(({ specifier }) => !/^(\.{1,2}\/|node:)/.test(specifier) || CLIENTS.test(specifier))
        .map(({ line, specifier }) => `${file}:${line} ${specifier}`),
    )
    expect(foreign).toEqual([])
  })

  test('imports point one way', () => {
    const wrong = modules.flatMap((file) =>
      rules
        .importsOf(file, read(file))
        .map(({ line, specifier }) => ({ line, target: posix.join(dirname(file), specifier) }))
        .filter(({ target }) => !mayImport(partOf(file), partOf(target), file))
        .map(({ line, target }) => `${file}:${line} imports ${target}`),
    )
    expect(wrong).toEqual([])
  })

  test('has no overlong file', () => {
    const lengths = [...modules, ...scripts].map((file) => [file, lineCount(read(file))] as const)
    for (const [file, lines] of lengths)
      if (lines > LONG_FILE) console.warn(`${file} has ${lines} lines: one concept?`)
    expect(lengths.filter(([, lines]) => lines > TOO_LONG_FILE)).toEqual([])
  })
})

/** `lock`, `stores/redis`, `clock.ts`, … */
function partOf(path: string): string {
  const [first = '', second = ''] = path.slice(librarySource.length + 1).split('/')
  return first === 'stores' ? `stores/${second}` : first
}

/**
 * Primitives → store contracts ← stores. The entry file of a store's subpath may join both. What the stores over SQL share is a folder
 * among theirs.
 */
function mayImport(from: string, to: string, file: string): boolean {
  const isStore = (part: string) => part.startsWith('stores/')
  const isPrimitive = (part: string) => ['lock', 'limit', 'idempotency', 'job', 'fence'].includes(part)
  if (to === 'testing' && from !== 'testing') return false
  if (isPrimitive(from)) return !isStore(to)
  const isOwn = (part: string) => part === from || part === 'stores/sql'
  if (isStore(from)) return (!isPrimitive(to) && (!isStore(to) || isOwn(to))) || file.endsWith('/index.ts')
  if (from === 'store') return !isStore(to) && !isPrimitive(to)
  return true
}

describe('Lua scripts', () => {
  const calls = scripts.filter((file) => !file.includes('/shared/'))
  const shared = scripts.filter((file) => file.includes('/shared/'))

  test.each(calls)('%s says what it does, its keys, arguments and reply, and uses just these', (file) => {
    const text = read(file)
    const header = parseHeader(text)
    expect(header.reply).not.toBe('')
    const code = codeOf(text)
    expect([...misuses('KEYS', header.keys, code), ...misuses('ARGV', header.args, code)]).toEqual([])
  })

  test.each(shared)('%s says what it is, and leaves KEYS and ARGV to the scripts', (file) => {
    const text = read(file)
    expect(leadingComment(text)[0] ?? '').not.toBe('')
    expect(codeOf(text)).not.toMatch(/\b(KEYS|ARGV)\b/)
  })

  test.each(scripts)('%s touches no key of its own making', (file) => {
    expect(madeUpKeys(read(file))).toEqual([])
  })

  test('have the constants of the rest of the library', () => {
    const same: Record<string, number> = {
      FENCE_LIMIT: MAX_FENCE,
      LEAD_MICROS: RESERVED_LEAD_MICROS,
      HEARTBEAT_MS: bounds.heartbeat,
      DEAD_AFTER_MS: bounds.waiterDeadAfter,
      QUEUE_TTL_MS: bounds.queueTtl,
    }
    const found = [
      ...scripts
        .map(read)
        .join('\n')
        .matchAll(/^local ([A-Z_]+) = (\d+)$/gm),
    ]
    const theirs = Object.fromEntries(found.map(([, name = '', value]) => [name, Number(value)]))
    expect(theirs).toMatchObject(same)
  })

  test('are all in use, with includes that exist', () => {
    const included = new Set(calls.flatMap((file) => loadLua(`${root}/${file}`).files))
    const imported = new Set(
      modules.flatMap((file) =>
        rules.importsOf(file, read(file)).map(({ specifier }) => posix.join(dirname(file), specifier)),
      ),
    )
    expect(shared.filter((file) => !included.has(`${root}/${file}`.replace('//', '/')))).toEqual([])
    expect(calls.filter((file) => !imported.has(file))).toEqual([])
  })
})

describe('the documents', () => {
  const markdown = documents()
  const named = namesInCode(markdown)
  let face: PublicName[]
  beforeAll(() => {
    face = publicNames()
  })
  const unknown = (names: Iterable<string>) => [...new Set(names)].filter((name) => !named.has(name))

  test('tell of every subpath', () => {
    const readme = read('README.md')
    const names = Object.keys(subpaths).map((subpath) => `'holdfast${subpath.slice(1)}'`)
    const missing = names.filter(
      (name) => !readme.includes(name) && !readme.includes(name.replaceAll("'", '`')),
    )
    expect(missing).toEqual([])
  })

  test('tell of every error code', () => {
    const file = `${librarySource}/errors.ts`
    const codes = rules.stringsLike(/^[A-Z]+(_[A-Z]+)*$/, file, read(file))
    expect(codes.length).toBeGreaterThan(0)
    expect(unknown(codes)).toEqual([])
  })

  test('tell of every error class', () => {
    expect(unknown(face.map(({ name }) => name).filter((name) => name.endsWith('Error')))).toEqual([])
  })

  test('tell of every event', () => {
    const channels = modules.flatMap((file) =>
      rules.stringsLike(/^holdfast:[a-z]+:[a-z-]+$/, file, read(file)),
    )
    expect(channels.length).toBeGreaterThan(0)
    expect([...new Set(channels)].filter((channel) => !markdown.includes(channel))).toEqual([])
  })

  test('tell of every option', () => {
    const options = face.flatMap((exported) => exported.options.map(({ name }) => name))
    expect(options.length).toBeGreaterThan(0)
    expect(unknown(options)).toEqual([])
  })

  test('tell of every default', () => {
    const file = `${librarySource}/defaults.ts`
    const defaults = rules.keysOfConstant('defaults', file, read(file))
    expect(defaults.length).toBeGreaterThan(0)
    expect(unknown(defaults)).toEqual([])
  })

  test('in the source tell of every public name and option', () => {
    const silent = face.flatMap(({ from, name, documented, options }) => [
      ...(documented ? [] : [`${name} of ${from}`]),
      ...options.filter((option) => !option.documented).map((option) => `${name}.${option.name} of ${from}`),
    ])
    expect(silent).toEqual([])
  })
})

describe('the repository', () => {
  test('leaves no test out', () => {
    const tests = everyFile.filter((file) => isTest(file) || /\/test\/.*\.ts$/.test(file))
    expect(tests.length).toBeGreaterThan(0)
    expect(findings(tests, rules.focusedOrSkipped)).toEqual([])
  })

  test('names no path of a machine and no host of a registry', () => {
    // Put together here, so that this file does not name them itself.
    const folders = ['work', 'tmp', 'root', 'home', 'Users'].join('|')
    const path = new RegExp(`(?<![\\w.~$}/])/(${folders})/`)
    const host = new RegExp(['registry', 'npmjs'].join('\\.') + '|' + ['deb', 'debian'].join('\\.'))
    const found = everyFile
      .flatMap((file) =>
        read(file)
          .split('\n')
          .map((line, n) => ({ at: `${file}:${n + 1}`, line })),
      )
      .filter(({ line }) => path.test(line) || host.test(line))
    expect(found.map(({ at, line }) => `${at} ${line.trim()}`)).toEqual([])
  })

  test('locks versions, not addresses', () => {
    const locks = everyFile.filter((file) => file.endsWith('package-lock.json'))
    expect(locks).toContain('package-lock.json')
    const pinned = locks.filter((file) => /"resolved": "(https?|git|file)/.test(read(file)))
    expect(pinned).toEqual([])
  })
})

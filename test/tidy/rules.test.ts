import { describe, expect, test } from 'vitest'
import { namesInCode } from './documents.ts'
import { codeOf, madeUpKeys, misuses, parseHeader } from './lua-header.ts'
import * as rules from './source-rules.ts'

/** Goal: the rules of tidy.test.ts find what they are for, and nothing else. */

const found = (rule: (file: string, text: string) => rules.Finding[], text: string) =>
  rule('file.ts', text).map(({ line, what }) => `${line} ${what}`)

describe('rules about sources', () => {
  test('clocks and chance are found in code, not in comments and strings', () => {
    const text = [
      '// Date.now()',
      `const s = 'Math.random'`,
      'Date.now()',
      'new Date(1)',
      'f(performance.now)',
    ].join('\n')
    expect(found(rules.clockUses, text)).toEqual(['3 Date.now', '4 Date(…)', '5 performance.now'])
  })

  test('any is found as a type, not as a word', () => {
    expect(found(rules.anyUses, `const any = 1\nlet x: any[]\n// any`)).toEqual(['2 any'])
  })

  test('variables of a module are found, those of functions are not', () => {
    expect(found(rules.moduleVariables, 'let a = 1\nconst b = 2\nfunction f() { let c = 3 }')).toEqual([
      '1 a',
    ])
  })

  test('tests left out are found', () => {
    const text = `test.only('a')\nit.skip('b')\ndescribe.concurrent.todo('c')\ntest.runIf(x)('d')\nlist.only()`
    expect(found(rules.focusedOrSkipped, text).map((line) => line[0])).toEqual(['1', '2', '3'])
  })

  test('imports of every form are found', () => {
    const text = `import a from 'a'\nexport * from 'b'\ntype C = import('c').C\nawait import('d')\nimport type { E } from 'e'`
    expect(rules.importsOf('file.ts', text).map(({ specifier }) => specifier)).toEqual([
      'a',
      'b',
      'c',
      'd',
      'e',
    ])
  })
})

describe('rules about Lua', () => {
  const script = (body: string) =>
    `-- Does it.\n-- KEYS: fence, then per item: lock, queue\n-- ARGV: process\n-- Reply: ok\n${body}`
  const judge = (body: string) => {
    const { keys, args } = parseHeader(script(body))
    return [...misuses('KEYS', keys, codeOf(script(body))), ...misuses('ARGV', args, codeOf(script(body)))]
  }
  const good = [
    'local STRIDE = 2',
    'local process, fence = ARGV[1], KEYS[1]',
    'for i = 1, (#KEYS - 1) / STRIDE do',
    '  local at = 1 + STRIDE * (i - 1)',
    "  f(KEYS[at + 1], KEYS[STRIDE * i + 1]) -- KEYS[9] 'and",
    'end',
  ].join('\n')

  test('a script that uses what it declares is fine', () => {
    expect(parseHeader(script(''))).toEqual({
      summary: 'Does it.',
      keys: { fixed: ['fence'], perItem: ['lock', 'queue'] },
      args: { fixed: ['process'], perItem: [] },
      reply: 'ok',
    })
    expect(judge(good)).toEqual([])
  })

  test.each([
    ['a key that is not used', good.replace('KEYS[1]', '1'), 'KEYS[1] is declared and not used'],
    ['an argument too many', `${good}\nf(ARGV[2])`, 'ARGV[2] is used and not declared'],
    ['a wrong stride', good.replace('STRIDE = 2', 'STRIDE = 3'), 'KEYS[3] is declared and not used'],
    ['a loop that ends early', good.replace('#KEYS - 1', '#KEYS - 3'), 'for 3 items'],
    ['an index made elsewhere', `${good}\nf(KEYS[n])`, 'cannot be worked out'],
  ])('%s is found', (_, body, problem) => {
    expect(judge(body).join('\n')).toContain(problem)
  })

  test.each(['KEYS', 'ARGV', 'Reply'])('a header without %s is found', (label) => {
    expect(() => parseHeader(script('').replace(`-- ${label}:`, '-- x'))).toThrow(label)
  })

  test('keys that a script makes up are found', () => {
    const lines = [
      "redis.call('GET', lock)",
      "redis.pcall('SET', 'x:' .. name, 1)",
      "redis.call('DEL', prefix .. 'y')",
    ]
    expect(madeUpKeys(lines.join('\n'))).toHaveLength(2)
  })
})

test('names in code are those of code blocks and code spans', () => {
  const markdown = 'the wait and `ttl: 5`\n```ts\nhf.lock(name)\n```\nthe end'
  expect([...namesInCode(markdown)].sort()).toEqual(['hf', 'lock', 'name', 'ttl'])
})

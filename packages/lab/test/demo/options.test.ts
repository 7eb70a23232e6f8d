import { expect, test } from 'vitest'
import { parseOptions, SCENES, usage, UsageError } from '../../src/demo/options.ts'

/** Goal: the command line means what it says, and what is not known is refused with a clear word. */

test.each([
  [[], { scenes: SCENES, json: false, store: null, help: false }],
  [['--json'], { scenes: SCENES, json: true, store: null, help: false }],
  [['--store', 'redis', '--json'], { scenes: SCENES, json: true, store: 'redis', help: false }],
  [['--store=sqlite'], { scenes: SCENES, json: false, store: 'sqlite', help: false }],
  [['-h'], { scenes: SCENES, json: false, store: null, help: true }],
  [['limit'], { scenes: ['limit'], json: false, store: null, help: false }],
  [['limit', '--json', 'coupons'], { scenes: ['coupons', 'limit'], json: true, store: null, help: false }],
])('%j', (args, options) => {
  expect(parseOptions(args)).toEqual(options)
})

test.each([
  [['--jsn'], 'unknown argument "--jsn"'],
  [['redis'], 'unknown argument "redis"'],
  [['--json=yes'], 'unknown argument "--json=yes"'],
  [['--store', 'postgres'], '--store takes redis or sqlite, not "postgres"'],
  [['--store='], '--store takes redis or sqlite, not ""'],
  [['--json', '--store'], '--store takes redis or sqlite, not nothing'],
])('%j is refused', (args, message) => {
  expect(() => parseOptions(args)).toThrow(new UsageError(message))
})

test('the help names every scene and option', () => {
  for (const option of [...SCENES, '--store redis', '--store sqlite', '--json', '--help'])
    expect(usage).toContain(option)
})

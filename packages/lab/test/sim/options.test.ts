import { expect, test } from 'vitest'
import { DEFAULT_SEEDS, parseOptions, usage, UsageError } from '../../src/sim/command/options.ts'
import { drawPlan, scenario, scenarioNames } from '../../src/sim/plan/scenarios.ts'

/** Goal: the command line means what it says, and what is not known is refused with a clear word. */

const plain = {
  seeds: DEFAULT_SEEDS,
  from: 1,
  scenarios: ['mixed'],
  mutant: null,
  exhaustive: null,
  first: false,
  json: false,
  help: false,
}

test.each([
  [[], plain],
  [['--seeds', '5', '--from=77'], { ...plain, seeds: 5, from: 77 }],
  [['--scenario', 'calm', '--json'], { ...plain, scenarios: ['calm'], json: true }],
  [['--scenario=all'], { ...plain, scenarios: scenarioNames }],
  [['--mutant', 'bare-del'], { ...plain, mutant: 'bare-del', first: true }],
  [['--exhaustive', 'fence'], { ...plain, exhaustive: 'fence' }],
  [['--scenario=calm,limits'], { ...plain, scenarios: ['calm', 'limits'] }],
  [['-h'], { ...plain, help: true }],
])('%j', (args, options) => {
  expect(parseOptions(args, scenarioNames)).toEqual(options)
})

test.each([
  [['--seed', '5'], 'unknown argument "--seed"'],
  [['--seeds', '0'], '--seeds takes a whole number from 1 to 4294967295, not "0"'],
  [['--seeds', '1e3'], '--seeds takes a whole number from 1 to 4294967295, not "1e3"'],
  [['--seeds'], '--seeds needs a value'],
  [['--from', '-1'], '--from takes a whole number from 0 to 4294967295, not "-1"'],
  [['--from', '4294967295', '--seeds', '2'], 'the last seed would be 4294967296; seeds end at 4294967295'],
  [['--exhaustive', 'all'], 'there is no search "all"; there are fence and acquire'],
  [['--scenario', 'storm'], `there is no scenario "storm"; there are ${scenarioNames.join(', ')}, and all`],
])('%j is refused', (args, message) => {
  expect(() => parseOptions(args, scenarioNames)).toThrow(new UsageError(message))
})

test('the help names every scenario', () => {
  const text = usage(scenarioNames.map((name) => [name, scenario(name)?.about ?? '']))
  for (const name of scenarioNames) expect(text).toContain(`${name} `)
})

test('a plan of an unknown scenario cannot be drawn', () => {
  expect(() => drawPlan(1, 'storm')).toThrow('there is no scenario storm')
})

import { expect, test } from 'vitest'
import { InvalidArgumentError } from '../errors.ts'
import { checkGuardOptions } from './guard-options.ts'

/** Goal: a guard keeps its fences in the table that was meant, or says that it cannot. */

test('the table: ours unless set, with a schema if need be', () => {
  expect(checkGuardOptions(undefined, 'postgresFence')).toEqual(['holdfast_fence'])
  expect(checkGuardOptions({}, 'postgresFence')).toEqual(['holdfast_fence'])
  expect(checkGuardOptions({ table: 'app.fences' }, 'postgresFence')).toEqual(['app', 'fences'])
})

test.each([null, '', 'a b', 'a.b.c', 'x'.repeat(64), 1])('%j cannot be the name of a table', (table) => {
  const check = (): unknown => checkGuardOptions({ table: table as string }, 'postgresFence')
  expect(check).toThrow(InvalidArgumentError)
  expect(check).toThrow(/^table/)
})

import { hostname } from 'node:os'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { systemRandomness } from '../clock.ts'
import { holderOf, leaseIdOf, newProcessName, OwnerMint, processOf, traceSuffix } from './owner.ts'

const process = newProcessName(systemRandomness)

describe('owners', () => {
  test('L2: 22 url-safe characters, then host and pid for the human who reads them', () => {
    const owner = new OwnerMint(process).next()
    expect(owner).toMatch(/^[A-Za-z0-9_-]{22}@[A-Za-z0-9._-]+:\d+$/)
    expect(owner).toContain(`@${hostname().replace(/[^A-Za-z0-9._-]/g, '_')}:${globalThis.process.pid}`)
  })

  test('L2: no two of one process are the same, and all tell the process', () => {
    const mint = new OwnerMint(process)
    const owners = Array.from({ length: 10_000 }, () => mint.next())
    expect(new Set(owners).size).toBe(owners.length)
    for (const owner of owners) expect(processOf(owner)).toBe(process)
    expect(new Set(owners.map(leaseIdOf)).size).toBe(owners.length)
  })

  test('two openings of one store have different names', () => {
    const names = Array.from({ length: 1_000 }, () => newProcessName(systemRandomness))
    expect(new Set(names).size).toBe(names.length)
    for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_-]{14}$/)
  })

  test('what other software wrote names no process and no lease', () => {
    for (const foreign of [
      '',
      'me',
      '550e8400-e29b-41d4-a716-446655440000',
      'a@b:1',
      `${'a'.repeat(21)}@host:1`,
    ]) {
      expect(processOf(foreign)).toBeNull()
      expect(leaseIdOf(foreign)).toBeNull()
    }
  })
})

describe('values', () => {
  const owner = new OwnerMint(process).next()

  test('end with the trace when there is one', () => {
    expect([traceSuffix(null), traceSuffix('x')]).toEqual(['', ';trace=x'])
  })

  test('are read back, also with reserved fences', () => {
    const fences = fc.bigInt({ min: 0n, max: 2n ** 53n - 1n })
    fc.assert(
      fc.property(fences, fc.option(fc.stringMatching(/^[\w.-]{1,64}$/)), (fence, trace) => {
        expect(holderOf(`${owner}#${fence}${traceSuffix(trace)}`, 5)).toEqual({ owner, fence, remaining: 5 })
      }),
    )
    expect(holderOf(`${owner}#12+3`, null)).toEqual({ owner, fence: 12n, remaining: null })
    expect(holderOf(`${owner}#12+3;trace=x`, 1)).toMatchObject({ owner, fence: 12n })
  })

  test.each([
    '',
    'me',
    '#',
    'a#b',
    'worker#42',
    'worker-7@host:12#42',
    'x#1#2',
    'job#7: running',
    'a\n#1',
    `${'a'.repeat(23)}@host:1#5`,
    `${'a'.repeat(21)}!@host:1#5`,
    `${owner}#`,
    `${owner}#1x`,
    `${owner}#1 `,
    `${owner}#1\n`,
    `${owner}#12345678901234567`,
    ` ${owner}#1`,
  ])('of other software are an owner whole, without a fence: %j', (value) => {
    expect(holderOf(value, 10)).toEqual({ owner: value, fence: null, remaining: 10 })
  })
})

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ownFolder, removeFolder } from '../../src/index.ts'
import { exampleFolder, programsOf } from './support.ts'

/**
 * Goal: H6. One statement, a unique constraint and a version column do without a lock what the naive way gets wrong.
 * Method: four processes race on one file, as in the README.
 */

const LOADER = new URL('../../../../build/register.mjs', import.meta.url).href
const PROCESSES = 4
const TRIES = 25

interface Race {
  readonly coupons: number
  readonly seats: number
}

let folder: string
let races: Race[]
let result: { coupons: number; seats: number; naive: number; versioned: number; locked: number }

async function race(...args: string[]): Promise<unknown> {
  const program = fileURLToPath(new URL('race.ts', exampleFolder('optimistic')))
  const command = ['--import', LOADER, program, join(folder, 'race.db'), ...args]
  const env = { ...process.env, NODE_OPTIONS: '' }
  return JSON.parse((await promisify(execFile)(process.execPath, command, { env })).stdout)
}

const sum = (of: keyof Race) => races.reduce((total, each) => total + each[of], 0)

beforeAll(async () => {
  folder = ownFolder('optimistic')
  await race('result')
  races = (await Promise.all(Array.from({ length: PROCESSES }, () => race()))) as Race[]
  result = (await race('result')) as typeof result
})
afterAll(() => removeFolder(folder))

test('H6: one atomic statement: 60 coupons, 100 tries, 60 taken', () => {
  expect([result.coupons, sum('coupons')]).toEqual([0, 60])
})

test('H6: a unique constraint: each user has one seat, and one process was told that it was the first', () => {
  expect([result.seats, sum('seats')]).toEqual([TRIES, TRIES])
})

test('H6: a version column, and a lock: nothing is lost', () => {
  expect([result.versioned, result.locked]).toEqual([PROCESSES * TRIES, PROCESSES * TRIES])
})

test('read, think, write: some of it is lost', () => {
  expect(result.naive).toBeLessThan(PROCESSES * TRIES)
})

test('the README names every program', () => {
  const { named, there } = programsOf('optimistic')
  expect(named).toEqual(there)
})

import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { SqliteDatabase } from './database.ts'
import { OpenFile } from './open-file.ts'

/** Goal: one file is told from another, also of another device, and what cannot be looked at stops nobody. Method: a pretended file system. */

interface Stat {
  readonly dev: bigint
  readonly ino: bigint
}

const files = new Map<string, Stat | Error>()

beforeEach(() => {
  files.clear()
  vi.spyOn(fs, 'statSync').mockImplementation(((path: string) => {
    const found = files.get(path)
    if (found instanceof Error) throw found
    return found
  }) as never)
  syncBuiltinESMExports()
})
afterEach(() => {
  vi.restoreAllMocks()
  syncBuiltinESMExports()
})

const open = (file: string): SqliteDatabase =>
  ({ prepare: () => ({ all: () => [{ name: 'main', file }] }) }) as never

test('a file of the same number on another device is another', () => {
  files.set('/a', { dev: 1n, ino: 7n }).set('/b', { dev: 2n, ino: 7n }).set('/c', { dev: 1n, ino: 7n })
  const file = new OpenFile(open('/a'))
  expect(file.isOf(open('/b'))).toBe(false)
  expect(file.isOf(open('/c'))).toBe(true)
  expect(file.isGone()).toBe(false)
  files.set('/a', { dev: 2n, ino: 7n })
  expect(file.isGone()).toBe(true)
})

test("a file that cannot be looked at is nobody's, and is not taken to be gone", () => {
  const denied = new Error('EACCES')
  files.set('/a', denied).set('/b', { dev: 1n, ino: 7n })
  const unseen = new OpenFile(open('/a'))
  expect([unseen.isOf(open('/a')), unseen.isGone()]).toEqual([false, false])
  const file = new OpenFile(open('/b'))
  expect(file.isOf(open('/a'))).toBe(false)
  files.set('/b', denied)
  expect(file.isGone()).toBe(false)
})

test('a file that was removed is gone; a database without one never is', () => {
  files.set('/a', { dev: 1n, ino: 7n })
  const file = new OpenFile(open('/a'))
  files.delete('/a')
  expect(file.isGone()).toBe(true)
  const none = new OpenFile(open(''))
  expect([none.isOf(open('')), none.isGone()]).toEqual([false, false])
})

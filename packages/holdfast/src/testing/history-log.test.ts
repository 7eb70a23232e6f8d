import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isHoldfastError } from '../errors.ts'
import { decodeRecord, encodeRecord, historyRecord } from './history-codec.ts'
import { FileHistory, parseHistory, readHistory } from './history-log.ts'
import { mutexHistory } from './checker/sample-histories.ts'
import type { HistoryEntry } from './history-record.ts'

const LOADER = fileURLToPath(new URL('../../../../build/register.mjs', import.meta.url))

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-history-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const entries: HistoryEntry[] = [
  { kind: 'acquire-call', time: 1.5, process: 'w', id: '1', name: 'a b\n{}', wait: 0, ttl: 5, renews: false },
  {
    kind: 'acquire-return',
    time: 2,
    process: 'w',
    id: '1',
    outcome: 'granted',
    fence: 2n ** 60n,
    owner: 'o',
    within: '0',
  },
  { kind: 'renewal', time: 2, process: 'w', hold: '1', deadline: 9.25, ttl: 4, sent: 1 },
  { kind: 'loss', time: 2, process: 'w', hold: '1', reason: 'expired', deadline: 3 },
  { kind: 'assertion', time: 2, process: 'w', hold: '1', passed: false },
  { kind: 'release-call', time: 2, process: 'w', id: '2', hold: '1', budget: 6 },
  { kind: 'release-return', time: 2, process: 'w', id: '2', outcome: 'not-held', reason: 'taken' },
  { kind: 'call', time: 2, process: 'w', id: '3', operation: 'close', wait: 1, budget: 2, name: 'x' },
  { kind: 'return', time: 2, process: 'w', id: '3', outcome: 'failed', error: 'E' },
  { kind: 'write', time: 2, process: 'w', resource: 'r', fence: 0n, accepted: true, order: 4, began: 1 },
  { kind: 'key', time: 2, process: 'w', key: 'k', name: 'n', owner: 'o', fence: 1n, expiresIn: 4, began: 1 },
  {
    kind: 'store',
    time: 2,
    process: 's',
    name: 'n',
    event: 'free',
    order: 2,
    owner: 'o',
    cause: 'flush',
    expires: 4,
  },
  { kind: 'stop', time: 2, process: 'd', subject: 'w', from: 1, until: 2, cause: 'SIGSTOP' },
  {
    kind: 'fault',
    time: 2,
    process: 'd',
    cause: 'flush',
    breaks: ['leases', 'clocks'],
    from: 1,
    until: 2,
    name: 'n',
  },
  { kind: 'death', time: 2, process: 'd', subject: 'w' },
  { kind: 'end', time: 2, process: 'w' },
  { kind: 'leak', time: 2, process: 'w', what: 'socket', detail: 'two' },
]

describe('lines', () => {
  test.each(entries)('$kind is read as it was written', (entry) => {
    const record = historyRecord(entry)
    const line = encodeRecord(record)
    expect(line).not.toContain('\n')
    expect(decodeRecord(line)).toEqual(record)
    const bare = historyRecord(
      Object.fromEntries(
        Object.entries(entry).filter(([field]) => !['ttl', 'fence'].includes(field)),
      ) as HistoryEntry,
    )
    if (entry.kind !== 'write') expect(decodeRecord(encodeRecord(bare))).toEqual(bare)
  })

  test('any history is read as it was written', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0 }), (seed) => {
        const { records } = mutexHistory({ seed, grants: 5, processes: 3, fenced: true })
        expect(parseHistory(records.map(encodeRecord).join('\n'), 'text')).toEqual(records)
      }),
      { numRuns: 50 },
    )
  })

  test.each([
    ['{', 'is not JSON'],
    ['3', 'is not a record'],
    ['{"v":2,"kind":"end","time":1,"process":"w"}', 'version 2'],
    ['{"v":1,"kind":"toString","time":1,"process":"w"}', 'no known kind'],
    ['{"v":1,"kind":"end","process":"w"}', 'no time'],
    ['{"v":1,"kind":"end","time":1,"process":"w","more":1}', 'unknown field more'],
    ['{"v":1,"kind":"death","time":1,"process":"w"}', 'death.subject'],
    ['{"v":1,"kind":"death","time":1,"process":"w","subject":1}', 'death.subject'],
    ['{"v":1,"kind":"return","time":1,"process":"w","id":"1","outcome":"well"}', 'return.outcome'],
    ['{"v":1,"kind":"assertion","time":1,"process":"w","hold":"1","passed":1}', 'assertion.passed'],
    ['{"v":1,"kind":"renewal","time":1,"process":"w","hold":"1","deadline":"1"}', 'renewal.deadline'],
    ['{"v":1,"kind":"write","time":1,"process":"w","resource":"r","accepted":true,"fence":3}', 'write.fence'],
    ['{"v":1,"kind":"fault","time":1,"process":"w","cause":"c","breaks":["all"],"from":1}', 'fault.breaks'],
  ])('%s is refused: %s', (line, problem) => {
    expect(() => decodeRecord(line)).toThrow(problem)
  })
})

describe('files', () => {
  test('a line that cannot be read is told with its place', () => {
    const path = join(folder, 'torn')
    const log = new FileHistory(path)
    log.append(historyRecord({ kind: 'end', time: 1, process: 'w' }))
    log.close()
    appendFileSync(path, '{"v":1,"kind":"en}\n')
    appendFileSync(path, '"v":1,"kind":"end"}\n')
    let error: unknown
    try {
      readHistory(path)
    } catch (caught) {
      error = caught
    }
    expect(isHoldfastError(error, 'INVALID_ARGUMENT')).toBe(true)
    expect(String(error)).toContain('torn:4')
    expect(String(error)).toContain('not JSON')
  })

  test('a line that a kill cut off is passed over, and takes no other along', () => {
    const path = join(folder, 'cut')
    const log = new FileHistory(path)
    const end = (time: number) => historyRecord({ kind: 'end', time, process: 'w' })
    const whole = encodeRecord(
      historyRecord({ kind: 'leak', time: 2, process: '"{\\', what: 'timer', detail: '}' }),
    )
    log.append(end(1))
    for (let length = 1; length < whole.length; length += 1) {
      appendFileSync(path, `\n${whole.slice(0, length)}`)
      log.append(end(3))
    }
    log.close()
    expect(readHistory(path)).toEqual([end(1), ...Array.from({ length: whole.length - 1 }, () => end(3))])
  })

  test('processes that append to one file, and are killed at it, lose no line that was appended', async () => {
    const path = join(folder, 'shared')
    // Each says after every append how far it got, so that the test knows what must be there.
    const code = `
      import { FileHistory, historyRecord } from 'holdfast/testing'
      import { writeSync } from 'node:fs'
      const [path, process] = globalThis.process.argv.slice(1)
      const log = new FileHistory(path)
      for (let id = 1; ; id += 1) {
        log.append(historyRecord({ kind: 'leak', time: id, process, what: 'timer', detail: 'x'.repeat(id % 700) }))
        try {
          writeSync(1, id + ' ')
        } catch {} // The pipe is full for the moment.
      }`
    const args = ['--import', LOADER, '--input-type=module', '-e', code, path]
    const children = ['a', 'b', 'c'].map((name) => {
      const child = spawn(process.execPath, [...args, name], { stdio: ['ignore', 'pipe', 'inherit'] })
      const heard = { name, child, said: '' }
      child.stdout.setEncoding('utf8').on('data', (text: string) => (heard.said += text))
      return heard
    })
    const closed = children.map(({ child }) => once(child, 'close'))
    try {
      const writing = () => children.every(({ said }) => said.length > 5_000)
      const running = () => children.every(({ child }) => child.exitCode === null)
      while (!writing() && running()) await new Promise((resolve) => setTimeout(resolve, 5))
      expect(running()).toBe(true)
    } finally {
      for (const { child } of children) child.kill('SIGKILL')
      await Promise.all(closed)
    }
    const records = readHistory(path)
    for (const { name, said } of children) {
      const acknowledged = Math.max(...said.split(' ').slice(0, -1).map(Number))
      const ids = records.filter((record) => record.process === name).map(({ time }) => time)
      expect(ids).toEqual(Array.from({ length: ids.length }, (_id, at) => at + 1))
      expect(ids.length).toBeGreaterThanOrEqual(acknowledged)
    }
  })
})

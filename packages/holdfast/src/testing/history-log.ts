import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'
import { InvalidArgumentError } from '../errors.ts'
import { decodeRecord, encodeRecord } from './history-codec.ts'
import type { HistoryRecord } from './history-record.ts'

/** Where records go. Appending is synchronous: what was appended is there, whatever happens to the process next. */
export interface HistoryLog {
  append(record: HistoryRecord): void
}

/** A history in memory, for simulators and tests of one process. */
export class MemoryHistory implements HistoryLog {
  readonly records: HistoryRecord[] = []

  append(record: HistoryRecord): void {
    this.records.push(record)
  }
}

/**
 * A history in a file, one JSON line a record. Several processes may append to one file: each line is one `write` to a
 * descriptor opened for appending, so lines never mix and a `kill -9` loses none that was appended. One that it cuts off (the system may
 * end a write between two pages) stays a line of its own, since every record begins a new one. It is not forced to
 * the disk: a crash of the machine may lose the tail.
 */
export class FileHistory implements HistoryLog {
  readonly #descriptor: number

  /** @param path of the file, which is made when it is not there */
  constructor(path: string) {
    this.#descriptor = openSync(path, 'a')
  }

  append(record: HistoryRecord): void {
    const line = Buffer.from(`\n${encodeRecord(record)}\n`, 'utf8')
    const written = writeSync(this.#descriptor, line)
    if (written !== line.length)
      throw new Error(`the history took only ${written} of ${line.length} bytes: disk full?`)
  }

  /** Closes the file. Nothing can be appended afterwards. */
  close(): void {
    closeSync(this.#descriptor)
  }
}

/**
 * Reads histories from files, in the order given; the checker brings the records into the order of their times.
 *
 * @throws InvalidArgumentError that names the file, the line and what is wrong with it
 */
export function readHistory(...paths: readonly string[]): HistoryRecord[] {
  return paths.flatMap((path) => parseHistory(readFileSync(path, 'utf8'), path))
}

/**
 * Reads a history from text; `source` names it in errors. A line that breaks off is passed over: its process was killed before the
 * record was appended.
 */
export function parseHistory(text: string, source: string): HistoryRecord[] {
  const records: HistoryRecord[] = []
  for (const [index, line] of text.split('\n').entries()) {
    if (line === '') continue
    try {
      records.push(decodeRecord(line))
    } catch (error) {
      if (breaksOff(line)) continue
      const problem = error instanceof Error ? error.message : String(error)
      throw new InvalidArgumentError('history', `${source}:${index + 1}`, {
        problem: 'cannot be read',
        remedy: problem,
      })
    }
  }
  return records
}

/** Whether an object has no end. */
function breaksOff(line: string): boolean {
  let depth = 0
  let quoted = false
  for (let i = 0; i < line.length; i += 1) {
    const character = line.charAt(i)
    if (quoted && character === '\\') i += 1
    else if (character === '"') quoted = !quoted
    else if (!quoted && '{['.includes(character)) depth += 1
    else if (!quoted && '}]'.includes(character)) depth -= 1
  }
  return line.startsWith('{') && (quoted || depth > 0)
}

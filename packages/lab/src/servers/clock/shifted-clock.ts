/** Wall clocks of servers that a test sets: a small library, preloaded into the server, adds what stands in a file. */

import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { ownFolder, removeFolder } from '../lifetime.ts'

const SOURCE = fileURLToPath(new URL('shifted-clock.c', import.meta.url))
const NANOS_PER_MILLI = 1_000_000

/** Whether there is a C compiler, without which no clock can be shifted. */
export async function canShiftClocks(): Promise<boolean> {
  if (process.platform !== 'linux') return false
  return promisify(execFile)('cc', ['--version']).then(
    () => true,
    () => false,
  )
}

/** The clock of one server. */
export class ShiftedClock {
  /** What the server's process is started with. */
  readonly env: Readonly<Record<string, string>>
  readonly #folder: string
  readonly #file: string

  private constructor(folder: string) {
    this.#folder = folder
    this.#file = join(folder, 'shift')
    this.env = { LD_PRELOAD: join(folder, 'shifted-clock.so'), HOLDFAST_CLOCK_FILE: this.#file }
  }

  /** Compiles the library. Rejects where there is no compiler. */
  static async make(): Promise<ShiftedClock> {
    const clock = new ShiftedClock(ownFolder('clock'))
    const { LD_PRELOAD: library = '' } = clock.env
    await promisify(execFile)('cc', ['-shared', '-fPIC', '-O1', '-o', library, SOURCE, '-ldl'])
    writeFileSync(clock.#file, Buffer.alloc(8))
    return clock
  }

  /** From now on it shows so many milliseconds more than the machine's, or less. */
  set(ms: number): void {
    const bytes = Buffer.alloc(8)
    bytes.writeBigInt64LE(BigInt(Math.round(ms * NANOS_PER_MILLI)))
    // In place: the server has mapped the file.
    writeFileSync(this.#file, bytes, { flag: 'r+' })
  }

  end(): void {
    removeFolder(this.#folder)
  }
}

import { systemClock, systemRandomness, type LockStoreBench } from 'holdfast/testing'
import { randomBytes } from 'node:crypto'
import { sleep } from '../../src/wait.ts'

/** What benches of real stores have in common: the machine's clock, and time that passes by itself. */
export function systemBench(): Pick<LockStoreBench, 'clock' | 'randomness' | 'prefix' | 'unit' | 'pass'> {
  return {
    clock: systemClock,
    randomness: systemRandomness,
    prefix: `contract-${randomBytes(6).toString('hex')}`,
    unit: 100,
    pass: (ms) => sleep(ms),
  }
}

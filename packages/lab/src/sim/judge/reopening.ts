import type { Verdict } from 'holdfast/testing'
import { DATA_LOST, FAILED_OVER } from '../world/fault-injector.ts'
import type { Broken } from './judge.ts'

/** What servers that stay shut keep from having consequences. */
const KEPT_FROM: ReadonlySet<string> = new Set([DATA_LOST, FAILED_OVER])

/** INV-M2 where servers stay shut after a switch: that data were lost excuses no two who hold at once. */
export function judgeReopening({ overlaps }: Verdict): Broken[] {
  return overlaps
    .filter(({ causes }) => causes.length > 0 && causes.every((cause) => KEPT_FROM.has(cause)))
    .map(({ name, owners: [one, other], from, until, causes }) => ({
      invariant: 'INV-M2',
      name,
      sentence: `${one} and ${other} both held ${name} for ${(until - from).toFixed(1)} ms after a switch (${causes.join(', ')}), in spite of reopenDelay.`,
      witness: [],
    }))
}

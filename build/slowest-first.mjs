import { BaseSequencer } from 'vitest/node'

/**
 * Where the files lie that take longest, the longest first: parts of their paths. Vitest goes by what it remembers of earlier runs, and a
 * fresh copy remembers nothing: a long file that began last would be waited for alone.
 */
export const SLOWEST = [
  'packages/lab/test/contract/limit-cluster',
  'packages/lab/test/cluster/failover',
  'packages/lab/test/demo/demo',
  'packages/lab/test/faults/refusals',
  'packages/lab/test/contract/l',
  'packages/lab/test/contract/redis',
  'packages/lab/test/cluster/',
  'packages/lab/test/limits-behaviour/',
  'packages/lab/test/failover/',
  'test/packaging',
]

/** Begins with the files that take longest, within the order of the projects. */
export class SlowestFirst extends BaseSequencer {
  /**
   * @override
   * @param {import('vitest/node').TestSpecification[]} files
   */
  async sort(files) {
    const sorted = await super.sort(files)
    return sorted.sort((a, b) => order(a) - order(b) || rank(a) - rank(b))
  }
}

/** @param {import('vitest/node').TestSpecification} file */
const order = (file) => file.project.config.sequence.groupOrder

/** @param {import('vitest/node').TestSpecification} file */
function rank({ moduleId }) {
  const found = SLOWEST.findIndex((part) => moduleId.includes(part))
  return found < 0 ? SLOWEST.length : found
}

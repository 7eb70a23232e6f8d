import type { Clock } from '../../clock.ts'
import type { Finding } from '../../check/report.ts'

/** What a crash loses of what was committed. `crash`: also one of the server's process alone; `power`: only one of its machine. */
export type LostBy = 'nothing' | 'power' | 'crash'

const LOST = 'locks granted in it may be granted again, counts and outcomes of it are gone'

/**
 * What follows from how a database writes down what is committed.
 *
 * @param saw the settings that say so
 * @param remedy the settings that close the gap
 */
export function durabilityOf(lost: LostBy, saw: string, remedy: string): Finding {
  if (lost === 'nothing') {
    const means = 'what was committed is on disk: a restart loses nothing'
    return { hazard: 'persistence', severity: 'fine', saw, means, remedy: null }
  }
  return {
    hazard: 'persistence',
    severity: lost === 'crash' ? 'warning' : 'note',
    saw,
    means: `a crash of the ${lost === 'crash' ? 'server' : 'machine'} loses the last commits: ${LOST}`,
    remedy: `Set ${remedy}, or guard what must not happen twice at its resource (a fence, a unique row).`,
  }
}

/** What is asked, or a word about silence when the time is over. Rejects with the database's own error. */
export async function askWithin(clock: Clock, budget: number, ask: () => Promise<Finding>): Promise<Finding> {
  let cancel = (): void => undefined
  const silence = new Promise<Finding>((resolve) => {
    const timer = clock.setTimer(() => resolve(UNSEEN), budget, { keepAlive: true })
    cancel = () => timer.cancel()
  })
  return Promise.race([ask(), silence]).finally(cancel)
}

const UNSEEN: Finding = {
  hazard: 'persistence',
  severity: 'note',
  saw: 'the database did not tell its settings in time',
  means: 'this hazard could not be looked at',
  remedy: 'Look whether the pool has a connection free.',
}

import { describe, expect, test } from 'vitest'
import { Drill, DRILLS, type DrillRound } from '../../src/failover/drill.ts'

/**
 * Goal: a primary that dies right after it granted. Without acknowledgement two can hold the lock, and that is shown; acknowledged by all
 * replicas, with `reopenDelay` and on a quorum nobody is granted it while another's lease lasts; a table that checks fences takes no stale
 * write in any of them.
 * Method: real servers with replicas that lag, killed and replaced. `HOLDFAST_DRILL_ROUNDS` sets how often, 5 if it is not set.
 */

const ROUNDS = Number(process.env.HOLDFAST_DRILL_ROUNDS ?? 5)

const count = (rounds: readonly DrillRound[], what: (round: DrillRound) => boolean): number =>
  rounds.filter(what).length

describe.each(DRILLS)('the server that granted is killed: %s', (name) => {
  test(`15, 41, D14: ${ROUNDS} times`, { timeout: 60_000 + ROUNDS * 6_000 }, async () => {
    const drill = await Drill.start(name)
    const rounds: DrillRound[] = []
    try {
      for (let i = 0; i < ROUNDS; i += 1) rounds.push(await drill.round())
    } finally {
      await drill.close()
    }
    const granted = count(rounds, (round) => round.granted !== null)
    const twice = count(rounds, (round) => round.grantedAgain !== null)
    const late = rounds.reduce((sum, round) => sum + round.lateWrites, 0)
    const stale = rounds.reduce((sum, round) => sum + round.staleWrites, 0)
    console.info(
      `${name}: ${ROUNDS} rounds, granted ${granted}, granted twice ${twice}, late writes ${late}, of them taken ${stale}`,
    )
    expect(granted).toBeGreaterThan(ROUNDS / 2)
    expect(stale).toBe(0)
    // Shown, not asserted away: on most of the rounds it happens.
    if (name === 'plain') expect(twice).toBeGreaterThan(0)
    else expect(twice).toBe(0)
  })
})

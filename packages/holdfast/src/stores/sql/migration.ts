import { systemClock } from '../../clock.ts'
import { bounds, defaults } from '../../defaults.ts'
import { parseDuration, type Duration } from '../../duration.ts'
import { checkOptions } from '../../options.ts'
import { publicError, StoreFailure } from '../../store/failure.ts'

/** What `store.migrate()` takes. */
export interface MigrateOptions {
  /**
   * How long it may take in all: for the database to answer, for others who make the tables at the same time, for the tables to be made. 30 ms to
   * 10 min; default 30 s.
   */
  budget?: Duration
}

/** The making of tables, which is given up when its time is over. */
export class Migration {
  /** Whether its time is over: nothing more may be sent. */
  given = false
  /** Whether something that changes the database was sent. */
  changing = false
  #onGiven: () => void = () => undefined

  /** What is done when it is given up. */
  onGiven(run: () => void): void {
    this.#onGiven = run
  }

  /** @throws Error when it was given up */
  assertGoing(): void {
    if (this.given) throw new Error('given up')
  }

  giveUp(): void {
    this.given = true
    this.#onGiven()
  }
}

/**
 * Makes tables within a time.
 *
 * @throws InvalidArgumentError, StoreUnavailableError when the time is over, and what `work` throws before
 */
export async function migrateInTime(
  options: MigrateOptions | undefined,
  work: (migration: Migration) => Promise<void>,
): Promise<void> {
  checkOptions(options, ['budget'], 'migrate')
  const { budget = defaults.migrateBudget } = options ?? {}
  const ms = parseDuration(budget, 'budget', { min: bounds.minBudget, max: bounds.maxMigrateBudget })
  const migration = new Migration()
  await new Promise<void>((resolve, reject) => {
    const timer = systemClock.setTimer(
      () => {
        reject(tooLate(ms, migration.changing))
        migration.giveUp()
      },
      ms,
      { keepAlive: true },
    )
    work(migration)
      .finally(() => timer.cancel())
      .then(resolve, reject)
  })
}

function tooLate(ms: number, changing: boolean): Error {
  const outcome = changing ? 'unknown' : 'not-done'
  const failure = new StoreFailure(`the database did not do it within ${ms} ms`, {
    kind: 'unreachable',
    outcome,
    final: false,
    reason: 'silent',
    remedy: 'It may be called again; where the tables take longer to be made, give migrate({ budget }).',
  })
  return publicError({ kind: changing ? 'unknown' : 'refused', failure }, 'Making the tables')
}

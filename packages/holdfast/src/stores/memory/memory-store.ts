import type { Clock } from '../../clock.ts'
import { checkNoOptions } from '../../options.ts'
import type { LockListener, OpenStore, Store, StoreContext, StoreTraits } from '../../store/contract.ts'
import { LimitRules } from '../../store/limit/limit-rules.ts'
import { RulesLimitStore } from '../../store/limit/rules-limit-store.ts'
import type { Pushes } from '../../store/lock-rules.ts'
import { OnceRules } from '../../store/once/once-rules.ts'
import { RulesOnceStore } from '../../store/once/rules-once-store.ts'
import { MemoryLimitTables } from './memory-limit-tables.ts'
import { MemoryLockStore } from './memory-lock-store.ts'
import { MemoryOnceTables } from './memory-once-tables.ts'
import { MemorySteps } from './memory-steps.ts'
import { MemoryTables } from './memory-tables.ts'

const TRAITS: StoreTraits = { fences: 'clocked', wake: 'push', clock: 'machine', durable: 'process' }

/**
 * A store in this process's memory. All that was opened over one `memoryStore()` exclude each other; two of them, and two
 * processes, know nothing of each other.
 *
 * Costs: no round trip; a call is done before it returns. Memory is in proportion to the locks, waiters and subjects of limits
 * in use; subjects that are over are cleared away by the calls of others, and by one timer while there are any.
 *
 * Promises under failure: everything ends with the process. Fences rise within its life, and after it as long as the wall
 * clock was not set back. Expiry follows the monotonic clock of the first that opened it: setting the wall clock changes
 * nothing, and while the machine sleeps nothing expires here (a holder ends all the same, by its own deadline).
 */
export function memoryStore(...none: never[]): Store {
  checkNoOptions(none, 'memoryStore')
  const memory = new Memory()
  return { kind: 'memory', traits: TRAITS, open: (context) => memory.open(context) }
}

interface Opening {
  readonly clock: Clock
  readonly listener: () => LockListener | null
}

interface AllTables {
  readonly locks: MemoryTables
  readonly limits: MemoryLimitTables
  readonly once: MemoryOnceTables
}

/** What all openings of one memory store share. */
class Memory {
  readonly #openings = new Map<string, Opening>()
  #tables: AllTables | null = null

  open(context: StoreContext): OpenStore {
    const tables = (this.#tables ??= makeTables(context.clock))
    const locks = new MemoryLockStore(tables.locks, context, this.#pushes)
    const limits = new MemorySteps(context.clock, tables.limits, new LimitRules(tables.limits))
    const once = new MemorySteps(context.clock, tables.once, new OnceRules(tables.once))
    this.#openings.set(locks.process, { clock: context.clock, listener: () => locks.listener })
    const close = async (): Promise<void> => {
      locks.close()
      limits.close()
      once.close()
      this.#openings.delete(locks.process)
      if (this.#openings.size > 0) return
      tables.limits.rest()
      tables.once.rest()
    }
    return { locks, limits: new RulesLimitStore(limits.do), once: new RulesOnceStore(once.do), close }
  }

  readonly #pushes: Pushes = {
    wake: (process, key) => this.#tell(process, (listener) => listener.wake(key)),
    forced: (process, key, owner) => this.#tell(process, (listener) => listener.forced(key, owner)),
  }

  /** As from a server, it arrives in a turn of its own, and not at all when the process is gone by then. */
  #tell(process: string, say: (listener: LockListener) => void): void {
    const opening = this.#openings.get(process)
    opening?.clock.endOfTurn(() => {
      const listener = opening.listener()
      if (listener !== null) say(listener)
    })
  }
}

/** One clock for all: that of the first who opened the store. */
function makeTables(clock: Clock): AllTables {
  const locks = new MemoryTables(clock)
  const now = (): number => locks.begin().now
  return { locks, limits: new MemoryLimitTables(clock, now), once: new MemoryOnceTables(clock, now) }
}

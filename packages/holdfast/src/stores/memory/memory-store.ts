import type { Clock } from '../../clock.ts'
import type { LockListener, OpenStore, Store, StoreContext, StoreTraits } from '../../store/contract.ts'
import type { Pushes } from '../../store/lock-rules.ts'
import { MemoryLockStore } from './memory-lock-store.ts'
import { MemoryTables } from './memory-tables.ts'

const TRAITS: StoreTraits = { fences: 'clocked', wake: 'push', clock: 'machine', durable: 'process' }

/**
 * A store in this process's memory. All that was opened over one `memoryStore()` exclude each other; two of them, and two
 * processes, know nothing of each other.
 *
 * Costs: no round trip; a call is done before it returns. Memory is in proportion to the locks and waiters in use.
 *
 * Promises under failure: everything ends with the process. Fences rise within its life, and after it as long as the wall
 * clock was not set back. Expiry follows the monotonic clock of the first that opened it: setting the wall clock changes
 * nothing, and while the machine sleeps nothing expires here (a holder ends all the same, by its own deadline).
 */
export function memoryStore(): Store {
  const memory = new Memory()
  return { kind: 'memory', traits: TRAITS, open: (context) => memory.open(context) }
}

interface Opening {
  readonly clock: Clock
  readonly listener: () => LockListener | null
}

/** What all openings of one memory store share. */
class Memory {
  readonly #openings = new Map<string, Opening>()
  #tables: MemoryTables | null = null

  open(context: StoreContext): OpenStore {
    const tables = (this.#tables ??= new MemoryTables(context.clock))
    const locks = new MemoryLockStore(tables, context, this.#pushes)
    this.#openings.set(locks.process, { clock: context.clock, listener: () => locks.listener })
    const close = async (): Promise<void> => {
      locks.close()
      this.#openings.delete(locks.process)
    }
    return { locks, close }
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

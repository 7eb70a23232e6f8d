import type { LockRecord } from '../store/contract.ts'
import type { LockEngine } from './engine.ts'
import type { GrantedLease } from './granted-lease.ts'

/** Asks the store, in the background, whether a lease still stands there that nobody renews, and tells its holder if not. */
export function readLease(engine: LockEngine, lease: GrantedLease): void {
  const { address, owner } = lease
  const reading = engine.operate<LockRecord | null>({
    what: 'inspect',
    background: true,
    ask: (attempt) => engine.store.inspect(address, attempt),
  })
  engine.inBackground(
    reading.then((outcome) => {
      if (outcome.kind !== 'done' || lease.released) return
      const { result } = outcome.answer
      if (result === null) lease.lose('missing')
      else if (result.owner !== owner) lease.lose('taken')
    }),
  )
}

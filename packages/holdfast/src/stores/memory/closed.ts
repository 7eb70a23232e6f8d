import { StoreFailure } from '../../store/failure.ts'

/** What a call on a closed opening is refused with. */
export function closed(): StoreFailure {
  return new StoreFailure('the store is closed', {
    kind: 'refused',
    outcome: 'not-done',
    final: true,
    reason: 'closed',
  })
}

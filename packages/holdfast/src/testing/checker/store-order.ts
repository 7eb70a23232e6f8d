import type { HistoryRecord, StoreEvent } from '../history-record.ts'
import { push, type Grant, type History } from './history.ts'
import { faultsOf, letGo, ownerOf, touches } from './leases.ts'
import { witnessOf, type Violation } from './verdict.ts'

/**
 * INV-M1 where the store itself told what it did, in its own order, so that nothing has to be searched for: it grants only
 * what is free, with fences that rise; it frees no lease under its holder; and all that callers were told of is its own.
 */
export function judgeStoreOrder(history: History, name: string, events: readonly StoreEvent[]): Violation[] {
  const order = new StoreOrder(history, name)
  for (const event of events) order.take(event)
  return [...order.violations, ...unknownToStore(history, name, events)]
}

class StoreOrder {
  readonly violations: Violation[] = []
  readonly #name: string
  /** Where clocks run apart, a store that lost the last fence may grant a lower one. */
  readonly #fencesRise: boolean
  readonly #faults: readonly { readonly from: number; readonly until: number | null }[]
  readonly #grantsOf = new Map<string, Grant[]>()
  /** The grant that stands, and what last set its expiry. */
  #held: { readonly grant: StoreEvent; readonly lease: StoreEvent } | null = null
  #highest: (StoreEvent & { readonly fence: bigint }) | null = null

  constructor(history: History, name: string) {
    this.#name = name
    this.#fencesRise = faultsOf(history, { name, processes: null, breaks: ['clocks'] }).length === 0
    this.#faults = faultsOf(history, { name, processes: null, breaks: ['leases'] })
    for (const grant of history.grants.get(name) ?? []) push(this.#grantsOf, ownerOf(grant), grant)
  }

  take(event: StoreEvent): void {
    const held = this.#held?.grant
    const same = held !== undefined && held.owner === event.owner
    if (event.event === 'free') {
      if (same) this.#free(event)
    } else if (event.event === 'renew' || (same && held.fence === event.fence)) {
      if (same) this.#held = { grant: held, lease: event }
    } else {
      this.#grant(event)
    }
  }

  #grant(event: StoreEvent): void {
    const { fence } = event
    const highest = this.#highest
    if (this.#held !== null && !this.#mayHaveEnded(event.time)) {
      const { grant, lease } = this.#held
      this.#broken(`The store granted ${this.#name} to ${event.owner} while ${grant.owner} held it.`, [
        grant,
        lease,
        event,
      ])
    }
    if (this.#fencesRise && highest !== null && fence !== null && fence <= highest.fence) {
      this.#broken(
        `The store granted ${this.#name} with the fence ${fence} after the fence ${highest.fence}.`,
        [highest, event],
      )
    }
    if (fence !== null && (highest === null || fence > highest.fence)) this.#highest = { ...event, fence }
    this.#held = { grant: event, lease: event }
  }

  #free(event: StoreEvent): void {
    const holder = this.#grantsOf.get(event.owner)?.find((grant) => {
      const end = letGo(grant)?.time ?? Infinity
      return grant.returned.time < event.time && end > event.time
    })
    if (holder !== undefined && this.#held !== null && !this.#mayHaveEnded(event.time)) {
      const { lease } = this.#held
      this.#broken(`The store freed ${this.#name} under ${event.owner}, who had not let go.`, [
        lease,
        holder.returned,
        event,
      ])
    }
    this.#held = null
  }

  /** The lease had run out, or a recorded fault may have ended it. */
  #mayHaveEnded(time: number): boolean {
    const lease = this.#held?.lease
    if (lease === undefined || (lease.expires !== null && lease.expires <= time)) return true
    return this.#faults.some((fault) => touches(fault, lease.time, time))
  }

  #broken(sentence: string, witness: readonly HistoryRecord[]): void {
    this.violations.push({ invariant: 'INV-M1', name: this.#name, sentence, witness: witnessOf(witness) })
  }
}

/** Grants that callers were told of and the store knows nothing of. Grants handed on within a lease are its own. */
function unknownToStore(history: History, name: string, events: readonly StoreEvent[]): Violation[] {
  const owners = new Set(events.filter(({ event }) => event === 'grant').map(({ owner }) => owner))
  const told = history.grants.get(name) ?? []
  return told
    .filter(({ returned }) => returned.owner !== null && !owners.has(returned.lease ?? returned.owner))
    .map((grant) => ({
      invariant: 'INV-M1',
      name,
      sentence: `${grant.process} was told that it holds ${name}, and the store never granted it to ${ownerOf(grant)}.`,
      witness: witnessOf([grant.call, grant.returned]),
    }))
}

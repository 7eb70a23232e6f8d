import type { Clock } from '../clock.ts'
import { isHoldfastError } from '../errors.ts'
import type { OpenStore, Primitive, StoreTraits } from '../store/contract.ts'
import { reportOf, type CheckReport, type Finding, type StoreFindings } from './report.ts'

/** What a check looks at. */
export interface CheckSubject {
  readonly kind: string
  readonly traits: StoreTraits
  readonly store: OpenStore
  readonly clock: Clock
  /** Milliseconds for each of its parts. */
  readonly budget: number
  /** One use of each primitive, on names that nobody else has. */
  readonly trials: Readonly<Record<Primitive, () => Promise<unknown>>>
}

/** Uses the store as callers will, and asks it what it knows of its server. Never rejects for what it finds. */
export async function checkStore(subject: CheckSubject): Promise<CheckReport> {
  const { kind, traits, store, clock, trials } = subject
  const wanted = Object.entries(trials).filter(([what]) => store.lacks?.includes(what as Primitive) !== true)
  // At once: together they take no longer than the slowest.
  const [own, ...tried] = await Promise.all([
    ownFindings(subject),
    ...wanted.map(([what, trial]) => triedOut(what, trial, clock)),
  ])
  const inMemory = traits.durable === 'process' ? [IN_MEMORY] : []
  return reportOf(kind, [...tried, ...inMemory, ...own.findings], own.rights)
}

async function ownFindings({ store, budget }: CheckSubject): Promise<StoreFindings> {
  try {
    return (await store.check?.(budget)) ?? { findings: [], rights: null }
  } catch (error) {
    return { findings: [unreachable(error)], rights: null }
  }
}

const IN_MEMORY: Finding = {
  hazard: 'durability',
  severity: 'note',
  saw: 'everything is kept in the memory of this process',
  means: 'nobody outside it is excluded or counted, and all of it ends with the process',
  remedy: 'Use a store on a server or a file as soon as there is a second process.',
}

async function triedOut(what: string, trial: () => Promise<unknown>, clock: Clock): Promise<Finding> {
  const began = clock.monotonic()
  try {
    await trial()
    const took = Math.round(10 * (clock.monotonic() - began)) / 10
    return {
      hazard: what,
      severity: 'fine',
      saw: `it was used, in ${took} ms`,
      means: 'it works',
      remedy: null,
    }
  } catch (error) {
    return {
      hazard: what,
      severity: 'danger',
      saw: error instanceof Error ? error.message : String(error),
      means: 'it cannot be used as things are',
      remedy: isHoldfastError(error)
        ? 'The message says what to do; the rights that are needed are in `rights`.'
        : null,
    }
  }
}

function unreachable(error: unknown): Finding {
  return {
    hazard: 'server',
    severity: 'danger',
    saw: error instanceof Error ? error.message : String(error),
    means: 'the server cannot be reached, or does not answer in time',
    remedy: 'Start it, or mend the address, the password or the network.',
  }
}

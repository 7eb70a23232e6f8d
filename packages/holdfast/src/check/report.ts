/** How much a finding matters to what is promised. */
export type Severity = 'fine' | 'note' | 'warning' | 'danger'

/** One hazard that was looked at. */
export interface Finding {
  /** A short name that stays the same: `eviction`, `persistence`, `replicas`, `version`, `clock`, `rights`, … */
  readonly hazard: string
  /** `danger`: a promise does not hold. `warning`: it holds until something happens. `note`: worth knowing, or not to be seen. */
  readonly severity: Severity
  /** What was seen, with its figures. */
  readonly saw: string
  /** What follows from it. */
  readonly means: string
  /** How to mend it; `null` when nothing has to be done. */
  readonly remedy: string | null
}

/** What a store can say of its server, and what the client's user needs there; `rights` is `null` where it has none of its own. */
export interface StoreFindings {
  readonly findings: readonly Finding[]
  readonly rights: string | null
}

/** What {@link Holdfast.check} found. */
export interface CheckReport {
  /** The store's kind. */
  readonly store: string
  /** Whether no finding is a danger. */
  readonly ok: boolean
  /** The worst first. */
  readonly findings: readonly Finding[]
  /** What the store's user needs, as a line that gives it; `null` where a store has no rights of its own. */
  readonly rights: string | null
}

const ORDER: readonly Severity[] = ['danger', 'warning', 'note', 'fine']

/** Joins what was found into one report. */
export function reportOf(store: string, findings: readonly Finding[], rights: string | null): CheckReport {
  return {
    store,
    ok: findings.every(({ severity }) => severity !== 'danger'),
    findings: findings.toSorted((a, b) => ORDER.indexOf(a.severity) - ORDER.indexOf(b.severity)),
    rights,
  }
}

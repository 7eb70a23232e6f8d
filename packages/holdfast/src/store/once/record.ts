import type {
  ClaimAsk,
  ClaimResult,
  CompleteAsk,
  CompleteResult,
  FreeAsk,
  FreeResult,
  OnceState,
  OnceView,
  RenewRunAsk,
  RenewRunResult,
  SettleAsk,
  SettleRunResult,
  StoredOutcome,
} from './contract.ts'

/** What is known of one key. Times are the store's, in milliseconds since 1970. */
export interface OnceRecord {
  readonly state: OnceState
  /** Who made the last change: a run, or a settlement. */
  readonly owner: string
  /** Runs so far whose end is not known, the present one included. */
  readonly attempt: number
  readonly since: number
  /** Of a run; 0 in other states. */
  readonly leaseEnds: number
  readonly fingerprint: string | null
  /** Of a key that is done. */
  readonly outcome: StoredOutcome | null
  readonly expires: number
}

/** What a call came to, and the record afterwards: the very same when nothing was changed. */
export interface OnceStep<R> {
  readonly result: R
  readonly record: OnceRecord | null
}

/** Takes the key if it may be run. */
export function claim(record: OnceRecord | null, ask: ClaimAsk, now: number): OnceStep<ClaimResult> {
  if (record?.state === 'running' && record.owner === ask.owner) {
    const leaseEnds = Math.max(record.leaseEnds, now + ask.lease)
    const prolonged = { ...record, leaseEnds, expires: now + ask.retention }
    return { result: { kind: 'claimed', attempt: record.attempt }, record: prolonged }
  }
  if (record !== null && differs(record.fingerprint, ask.fingerprint))
    return { result: { kind: 'mismatch', fingerprint: record.fingerprint }, record }
  if (record?.state === 'done' && record.outcome !== null) {
    const { outcome, fingerprint } = record
    return { result: { kind: 'done', outcome, fingerprint }, record }
  }
  const left = leaseLeft(record, now)
  if (record?.state === 'running' && (left > 0 || !ask.retryAbandoned)) {
    const { attempt, fingerprint } = record
    return { result: { kind: 'running', left, attempt, fingerprint }, record }
  }
  const attempt = (record?.attempt ?? 0) + 1
  const claimed: OnceRecord = {
    state: 'running',
    owner: ask.owner,
    attempt,
    since: now,
    leaseEnds: now + ask.lease,
    fingerprint: ask.fingerprint ?? record?.fingerprint ?? null,
    outcome: null,
    expires: now + ask.retention,
  }
  return { result: { kind: 'claimed', attempt }, record: claimed }
}

/** Prolongs the lease of a run. */
export function renew(record: OnceRecord | null, ask: RenewRunAsk, now: number): OnceStep<RenewRunResult> {
  if (record === null) return { result: { kind: 'missing' }, record }
  if (!runs(record, ask.owner)) return { result: { kind: 'other' }, record }
  const leaseEnds = Math.max(record.leaseEnds, now + ask.lease)
  return { result: { kind: 'renewed' }, record: { ...record, leaseEnds, expires: now + ask.retention } }
}

/** Stores an outcome. */
export function complete(record: OnceRecord | null, ask: CompleteAsk, now: number): OnceStep<CompleteResult> {
  if (record !== null && !runs(record, ask.owner)) {
    const again = record.state === 'done' && record.owner === ask.owner
    return { result: { kind: again ? 'done' : 'other' }, record }
  }
  const done: OnceRecord = {
    state: 'done',
    owner: ask.owner,
    attempt: record?.attempt ?? ask.attempt,
    since: now,
    leaseEnds: 0,
    fingerprint: ask.fingerprint ?? record?.fingerprint ?? null,
    outcome: ask.outcome,
    expires: now + ask.retention,
  }
  return { result: { kind: 'done' }, record: done }
}

/** Frees the key. */
export function free(record: OnceRecord | null, ask: FreeAsk, now: number): OnceStep<FreeResult> {
  if (record === null) return { result: { kind: 'missing' }, record }
  if (!runs(record, ask.owner)) {
    const again = record.state === 'open' && record.owner === ask.owner
    return { result: { kind: again ? 'freed' : 'other' }, record }
  }
  // Alone, its run is known to have come to nothing. One before it may have come to something.
  if (record.attempt === 1) return { result: { kind: 'freed' }, record: null }
  const attempt = ask.started ? record.attempt : record.attempt - 1
  return { result: { kind: 'freed' }, record: { ...opened(record, ask, now), attempt } }
}

/** Decides about a key whose run ended unknown. */
export function settle(record: OnceRecord | null, ask: SettleAsk, now: number): OnceStep<SettleRunResult> {
  if (record === null) return { result: { kind: 'missing' }, record }
  if (record.state !== 'running' && record.owner === ask.owner) return { result: { kind: 'settled' }, record }
  if (leaseLeft(record, now) > 0) return { result: { kind: 'running' }, record }
  if (record.state === 'done' && record.outcome?.form !== 'unstored')
    return { result: { kind: 'done' }, record }
  const settled = opened(record, ask, now)
  return {
    result: { kind: 'settled' },
    record: ask.outcome === null ? settled : { ...settled, state: 'done', outcome: ask.outcome },
  }
}

/** The record as it is read. */
export function view(record: OnceRecord, now: number): OnceView {
  const { state, owner, attempt, since, fingerprint, outcome, expires } = record
  const left = leaseLeft(record, now)
  return { state, owner, attempt, since, left, fingerprint, outcome, remaining: expires - now }
}

function opened(
  record: OnceRecord,
  { owner, retention }: { readonly owner: string; readonly retention: number },
  now: number,
): OnceRecord {
  return {
    ...record,
    state: 'open',
    owner,
    since: now,
    leaseEnds: 0,
    outcome: null,
    expires: now + retention,
  }
}

function runs(record: OnceRecord, owner: string): boolean {
  return record.state === 'running' && record.owner === owner
}

/** What is left of the lease of a run, if it is one. */
function leaseLeft(record: OnceRecord | null, now: number): number {
  return record?.state === 'running' ? Math.max(0, record.leaseEnds - now) : 0
}

/** Two payloads are told apart where both have a fingerprint. */
export function differs(one: string | null, other: string | null): boolean {
  return one !== null && other !== null && one !== other
}

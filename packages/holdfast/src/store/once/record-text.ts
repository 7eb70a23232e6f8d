import type { OnceState, OutcomeForm } from './contract.ts'
import type { OnceRecord } from './record.ts'

/**
 * A record as one text: a line `STATE OWNER ATTEMPT SINCE LEASE_ENDS FINGERPRINT FORM`, with `-` for what is not there, and
 * after it the outcome's body. The Redis scripts read and write the same.
 */
export function writeRecord(record: Omit<OnceRecord, 'expires'>): string {
  const { state, owner, attempt, since, leaseEnds, fingerprint, outcome } = record
  const form = outcome?.form ?? '-'
  const body = outcome?.body ?? ''
  return `${state} ${owner} ${attempt} ${since} ${leaseEnds} ${fingerprint ?? '-'} ${form}\n${body}`
}

/** Reads what {@link writeRecord} wrote. */
export function readRecord(text: string, expires: number): OnceRecord {
  const end = text.indexOf('\n')
  const [state = '', owner = '', attempt, since, leaseEnds, fingerprint = '', form = ''] = text
    .slice(0, end)
    .split(' ')
  return {
    state: state as OnceState,
    owner,
    attempt: Number(attempt),
    since: Number(since),
    leaseEnds: Number(leaseEnds),
    fingerprint: orNull(fingerprint),
    outcome: form === '-' ? null : { form: form as OutcomeForm, body: text.slice(end + 1) },
    expires,
  }
}

/** What a dash stands for. */
export function orNull(word: string): string | null {
  return word === '-' ? null : word
}

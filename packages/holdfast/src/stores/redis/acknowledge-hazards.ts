import type { Finding, Severity } from '../../check/report.ts'
import type { Clock } from '../../clock.ts'
import { isAtLeast72, waitForReplicas, type Acknowledged, type AcknowledgeTerms } from './acknowledge.ts'
import type { RedisPort } from './port.ts'
import type { ServerFacts } from './server-facts.ts'

/** Part of `within` above which there is a word about how long the replicas take. */
const NEARLY_LATE = 0.5
/** How long the key stays that is written to be acknowledged, in milliseconds. */
const TRIAL_MS = 1_000

/** What came of one write that the replicas were asked for; `null` where it could not be tried. */
export interface AcknowledgeTrial extends Acknowledged {
  /** How long that took, in milliseconds. */
  readonly took: number
}

/**
 * Writes a key that soon expires, over a connection of its own, and waits for as many replicas as the terms speak of. Never rejects.
 *
 * @param until monotonic milliseconds
 */
export async function tryAcknowledge(
  port: RedisPort,
  clock: Clock,
  { terms, key, until }: { terms: AcknowledgeTerms; key: string; until: number },
): Promise<AcknowledgeTrial | null> {
  try {
    return await port.withConnection(until, async (connection) => {
      const written = connection.send(['SET', key, '1', 'PX', String(TRIAL_MS)])
      const sent = clock.monotonic()
      const acknowledged = await waitForReplicas(connection, { ...terms, replicas: terms.of })
      await written
      return { ...acknowledged, took: clock.monotonic() - sent }
    })
  } catch {
    return null
  }
}

/** Whether grants can be acknowledged as the store demands, each hazard with what was seen. */
export function acknowledgeHazards(
  { info }: ServerFacts,
  trial: AcknowledgeTrial | null,
  terms: AcknowledgeTerms,
): Finding[] {
  // The check says so by another finding.
  if (info.size === 0) return []
  const findings = [connected(Number(info.get('connected_slaves') ?? 0), terms), lag(trial, terms)]
  const version = info.get('redis_version') ?? ''
  if (terms.disk && version !== '' && !isAtLeast72(version)) {
    findings.push(
      finding('danger', {
        saw: `the server is ${version}, and disk is true`,
        means: 'every grant is refused: WAITAOF came with Redis 7.2',
        remedy: 'Leave acknowledge.disk out, or use a later server.',
      }),
    )
  } else if (terms.disk && info.get('aof_enabled') === '0') {
    findings.push(
      finding('danger', {
        saw: 'the server keeps no append-only file, and disk is true',
        means: 'every grant is refused: there is no disk on which it could lie',
        remedy: 'Set appendonly yes on it and on its replicas, or leave acknowledge.disk out.',
      }),
    )
  }
  return findings
}

function connected(count: number, { replicas, of }: AcknowledgeTerms): Finding {
  const saw = `${count} of ${of} replicas are connected, and ${replicas} must have a grant`
  if (count > of) {
    return finding('danger', {
      saw,
      means: 'every grant is refused: one that is not waited for may be promoted',
      remedy: 'Give the number of replicas that are set up as acknowledge.of.',
    })
  }
  if (count < replicas) {
    return finding('danger', {
      saw,
      means: 'nothing can be granted until they are back',
      remedy: 'Start them, or look at the network between them and the primary.',
    })
  }
  if (count < of) {
    return finding('warning', {
      saw,
      means: 'the next one that is missing stops all grants, or one without the last grants may be promoted',
      remedy: 'Start those that are missing. If they are gone for good, give acknowledge.of without them.',
    })
  }
  return finding('fine', { saw, means: 'all that could be promoted are there' })
}

function lag(trial: AcknowledgeTrial | null, { replicas, of, within, disk }: AcknowledgeTerms): Finding {
  if (trial === null) {
    return finding('note', {
      saw: 'no write could be tried',
      means: 'how long the replicas take is not known',
      remedy: 'Look at the other findings.',
    })
  }
  const ms = Math.round(trial.took)
  const where = disk ? `on disk on ${trial.local ? '' : 'no primary and '}` : 'on '
  const saw = `a write was ${where}${trial.copies} of ${of} replicas after ${ms} ms, and they have ${within} ms`
  if (!trial.local || trial.copies < replicas) {
    return finding('danger', {
      saw,
      means: 'grants that too few have are undone: callers get NotAcknowledgedError',
      remedy:
        'Look at their lag in INFO replication; a longer acknowledge.within makes every grant wait longer.' +
        (disk
          ? ' All must have appendonly yes; with appendfsync everysec a write takes up to two seconds.'
          : ''),
    })
  }
  if (trial.took > NEARLY_LATE * within) {
    return finding('warning', {
      saw,
      means: 'every grant and renewal waits for as long, and a little more lag refuses them',
      remedy: 'Look at the network and at the load of the replicas, or give a longer acknowledge.within.',
    })
  }
  return finding('fine', { saw, means: 'they are quick enough' })
}

function finding(
  severity: Severity,
  { saw, means, remedy = null }: { saw: string; means: string; remedy?: string | null },
): Finding {
  return { hazard: 'acknowledge', severity, saw, means, remedy }
}

import type { Finding, Severity } from '../../check/report.ts'
import type { ServerFacts } from './server-facts.ts'

/** The oldest server that the scripts run on. */
const OLDEST = [6, 2] as const
/** A replica that was heard of within this is not called late. */
const LATE_REPLICA_SECONDS = 2
/** Milliseconds by which clocks may differ without a word. */
const CLOCK_MS = 1_000
/** Part of maxmemory above which there is a word about it. */
const NEARLY_FULL = 0.9

/**
 * The hazards of one server for what is kept on it, each with what was seen.
 *
 * @param inCluster whether it is one of several: then each finding says which
 */
export function hazardsOf(facts: ServerFacts, { inCluster }: { readonly inCluster: boolean }): Finding[] {
  const findings = found(facts)
  if (!inCluster) return findings
  const node = facts.info.get('tcp_port') ?? 'not shown'
  return findings.map((each) => ({ ...each, saw: `node on port ${node}: ${each.saw}` }))
}

const SILENT: Finding = {
  hazard: 'server',
  severity: 'warning',
  saw: 'it is connected, and does not answer',
  means: 'nothing can be said of it',
  remedy: 'Look whether it is stopped, overloaded, or cut off behind the connection.',
}

function found(facts: ServerFacts): Finding[] {
  // TIME is among the rights that everybody has who may use the library.
  if (facts.info.size === 0 && facts.clock === null) return [SILENT]
  if (facts.info.size === 0) return [unseen('server', 'INFO')]
  return [
    version(facts),
    role(facts),
    eviction(facts),
    memory(facts),
    persistence(facts),
    ...replicas(facts),
    clockOf(facts),
  ].filter((finding) => finding !== null)
}

/**
 * What the user of a client needs under these prefixes, as the command that grants it.
 *
 * @param reopens whether the acquire script asks for the server's uptime
 * @param inCluster whether the server is a node of a cluster
 */
export function rightsFor(
  user: string | null,
  prefixes: readonly string[],
  { reopens, inCluster }: { readonly reopens: boolean; readonly inCluster: boolean },
): string {
  const keys = prefixes.map((prefix) => `~${prefix}:* &${prefix}:*`).join(' ')
  const more = `${inCluster ? ' +spublish +ssubscribe +sunsubscribe +cluster|slots +cluster|info +asking +readonly +readwrite' : ''}${reopens ? ' +info' : ''}`
  return `ACL SETUSER ${user ?? 'USER'} on ${keys} +@scripting +@read +@write +time +publish +subscribe${more}`
}

function finding(
  hazard: string,
  severity: Severity,
  { saw, means, remedy = null }: { saw: string; means: string; remedy?: string | null },
): Finding {
  return { hazard, severity, saw, means, remedy }
}

function unseen(hazard: string, command: string): Finding {
  return finding(hazard, 'note', {
    saw: `the client's user may not use ${command}, or the service does not offer it`,
    means: 'this hazard could not be looked at',
    remedy: `Let a user with the right to ${command} run the check, or look at the service's own settings.`,
  })
}

function version({ info }: ServerFacts): Finding {
  const valkey = info.get('valkey_version')
  const text = valkey ?? info.get('redis_version') ?? ''
  const [major = 0, minor = 0] = text.split('.').map(Number)
  const saw = `${valkey === undefined ? 'Redis' : 'Valkey'} ${text}, run id ${info.get('run_id') ?? 'not shown'}`
  const old = valkey === undefined && (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]))
  if (!old) return finding('version', 'fine', { saw, means: 'all that is needed is there' })
  return finding('version', 'danger', {
    saw,
    means: 'scripts use commands that came with Redis 6.2',
    remedy: 'Use Redis 6.2 or later, or Valkey.',
  })
}

function role({ info }: ServerFacts): Finding | null {
  if (info.get('role') !== 'slave') return null
  return finding('role', 'danger', {
    saw: 'the server is a replica',
    means: 'it refuses every lock, limit and outcome with READONLY',
    remedy: "Point the client at the primary, or use the client's Sentinel support.",
  })
}

function eviction({ info, config }: ServerFacts): Finding {
  const policy = config.get('maxmemory-policy') ?? info.get('maxmemory_policy')
  if (policy === undefined) return unseen('eviction', 'INFO memory')
  const limit = Number(config.get('maxmemory') ?? info.get('maxmemory') ?? 0)
  const saw = `maxmemory-policy ${policy}, maxmemory ${limit === 0 ? 'not set' : String(limit)}`
  if (policy === 'noeviction') {
    return finding('eviction', 'fine', { saw, means: 'a full server refuses writes; it drops nothing' })
  }
  return finding('eviction', limit === 0 ? 'warning' : 'danger', {
    saw,
    means:
      limit === 0
        ? 'once maxmemory is set, a full server drops locks, counts and outcomes that are in use'
        : 'a full server drops locks, counts and outcomes that are in use: a held lock is granted again',
    remedy: 'Set maxmemory-policy noeviction, or keep what evicts (a cache) on another server.',
  })
}

function memory({ info, config }: ServerFacts): Finding | null {
  const limit = Number(config.get('maxmemory') ?? info.get('maxmemory') ?? 0)
  const used = Number(info.get('used_memory') ?? 0)
  if (limit === 0 || used < NEARLY_FULL * limit) return null
  return finding('memory', 'warning', {
    saw: `${used} of ${limit} bytes are used`,
    means: 'a full server refuses grants, or drops keys if its policy lets it',
    remedy: 'Raise maxmemory, or find what fills it.',
  })
}

function persistence({ info, config }: ServerFacts): Finding {
  const append = info.get('aof_enabled') === '1'
  const fsync = config.get('appendfsync')
  const save = config.get('save')
  if (append && fsync === 'always') {
    return finding('persistence', 'fine', {
      saw: 'append-only file, appendfsync always',
      means: 'what was answered is on disk: a restart loses nothing',
    })
  }
  if (append) {
    return finding('persistence', 'note', {
      saw: `append-only file, appendfsync ${fsync ?? 'not shown'}`,
      means:
        'a crash of the machine loses about the last second: locks granted in it may be granted again, counts and outcomes of it are gone',
      remedy:
        'Guard what must not happen twice at its resource (a fence, a unique row). appendfsync always closes the gap, at its price.',
    })
  }
  return finding('persistence', 'warning', {
    saw: save === undefined || save === '' ? 'nothing is written to disk' : `snapshots only (save ${save})`,
    means:
      'a restart forgets what came since the last snapshot: locks that are held may be granted again, outcomes are gone and effects may be repeated',
    remedy:
      'Set appendonly yes. Until then guard what must not happen twice at its resource (a fence, a unique row).',
  })
}

function replicas({ info, config }: ServerFacts): Finding[] {
  if (info.get('role') !== 'master') return []
  const count = Number(info.get('connected_slaves') ?? 0)
  const wanted = config.get('min-replicas-to-write')
  if (count === 0) {
    return [
      finding('replicas', 'note', {
        saw: 'no replica is connected',
        means: 'there is nothing to fail over to; when the server is away, callers are told so',
      }),
    ]
  }
  const findings = [
    finding('replicas', 'warning', {
      saw: `${count} connected`,
      means:
        'replication is asynchronous: a primary that dies right after a grant may not have passed it on, and its successor grants again',
      remedy: 'Guard what must not happen twice at its resource with the fence.',
    }),
  ]
  for (let n = 0; n < count; n += 1) {
    const line = info.get(`slave${n}`)
    if (line !== undefined) findings.push(...replicaOf(line, Number(info.get('master_repl_offset') ?? 0)))
  }
  if (wanted === undefined || wanted === '0') {
    findings.push(
      finding('min-replicas', 'warning', {
        saw: wanted === undefined ? 'min-replicas-to-write is not shown' : 'min-replicas-to-write 0',
        means:
          'a primary that was cut off from its replicas goes on granting while its successor grants the same',
        remedy: 'Set min-replicas-to-write to 1 or more, with a small min-replicas-max-lag.',
      }),
    )
  }
  return findings
}

function replicaOf(line: string, offset: number): Finding[] {
  const fields = new Map(line.split(',').map((pair) => pair.split('=') as [string, string]))
  const lag = Number(fields.get('lag') ?? 0)
  const behind = Math.max(0, offset - Number(fields.get('offset') ?? offset))
  const state = fields.get('state') ?? 'unknown'
  if (state === 'online' && lag <= LATE_REPLICA_SECONDS) return []
  return [
    finding('replica-lag', 'warning', {
      saw: `${fields.get('ip') ?? '?'}:${fields.get('port') ?? '?'} is ${state}, last heard of ${lag} s ago, ${behind} bytes behind`,
      means: 'what it has not got is lost when it takes over',
      remedy: 'Look at its log and at the network between the two.',
    }),
  ]
}

function clockOf({ clock }: ServerFacts): Finding {
  if (clock === null) return unseen('clock', 'TIME')
  const ahead = Math.round(clock.ahead)
  const saw = `the server's clock is ${Math.abs(ahead)} ms ${ahead < 0 ? 'behind' : 'ahead of'} this machine's (to within ${Math.ceil(clock.within)} ms)`
  if (Math.abs(clock.ahead) <= CLOCK_MS + clock.within) {
    return finding('clock', 'fine', { saw, means: 'nothing here goes by the clock of callers' })
  }
  return finding('clock', 'note', {
    saw,
    means:
      'locks and limits go by the server alone, so nothing breaks; but fences begin with its time, and a new server with another clock may give lower ones',
    remedy: 'Let all machines, servers that may take over above all, keep their time by NTP.',
  })
}

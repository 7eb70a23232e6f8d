import { HistoryRecorder, lockAddress, MemoryHistory, type HistoryRecord } from 'holdfast/testing'
import { Client } from '../client/client.ts'
import { ModelCluster } from '../cluster/cluster.ts'
import { ClusterPaths } from '../cluster/paths.ts'
import { ClientProcess, type ProcessTraits } from '../client/process.ts'
import { Dice, seedFor } from '../dice.ts'
import { Path } from '../network/path.ts'
import { ServerHost } from '../network/server-host.ts'
import type { ClientPlan, Plan, ScriptName } from '../plan/plan.ts'
import { Scheduler } from '../scheduler.ts'
import type { ScriptCache } from '../server/lua/script-cache.ts'
import { ModelServer } from '../server/model-server.ts'
import { Caller } from './caller.ts'
import { Epochs } from './epochs.ts'
import { FaultInjector } from './fault-injector.ts'
import { Finale } from './finale.ts'
import { GuardedResource } from './resource.ts'
import { scriptIn } from './scripts.ts'
import { StoreLog, type BroughtBack } from './store-log.ts'
import { Traffic } from './traffic.ts'

/** The library's default, which all keys begin with. */
const PREFIX = 'holdfast:v1'
const DAY_MS = 86_400_000
/** World time by which every caller has done, or never will. */
const LAST_MOMENT = 300_000
/** Things that may happen in one world: beyond it, something goes on without end. */
const MOST_HAPPENINGS = 200_000

/** What is known when a world has come to its end. */
export interface WorldResult {
  readonly records: readonly HistoryRecord[]
  /** Violations that the world itself saw. */
  readonly seen: readonly Seen[]
  readonly happenings: number
  readonly refusedWrites: number
  /** What was asked of limiters and idempotencies. */
  readonly traffic: Traffic
  readonly epochs: Epochs
  readonly broughtBack: readonly BroughtBack[]
  /** To whom a server granted a lock that another had taken over from. */
  readonly strayOwners: ReadonlySet<string>
  /** Names of processes, by what their owners begin with. */
  readonly owners: ReadonlyMap<string, string>
  /** World time at the end, in milliseconds. */
  readonly time: number
}

export interface Seen {
  readonly invariant: 'INV-L1' | 'INV-C1' | 'INV-H1' | 'INV-H2' | 'INV-T1' | 'INV-R1' | 'INV-J1'
  readonly name: string | null
  readonly sentence: string
}

/** Something that yields whenever promises have to go on. */
export type Play<T> = Generator<void, T, void>

/** One world: a server, clients, a network, and what befalls them. */
export class World {
  readonly plan: Plan
  readonly scheduler = new Scheduler()
  /** The one that is the primary now. */
  server: ServerHost
  /** Servers that go on though another has taken over. */
  readonly leftBehind: ServerHost[] = []
  /** Several servers that share the keys, in place of the one; `null` in most worlds. */
  readonly cluster: ModelCluster | null
  readonly recorder: HistoryRecorder
  readonly storeLog: StoreLog
  readonly resource: GuardedResource
  readonly traffic = new Traffic()
  readonly epochs = new Epochs()
  readonly seen: Seen[] = []
  /** All clients that ever lived, in the order in which they were started. */
  readonly clients: Client[] = []
  /** The present life of each client of the plan; `null` after a kill. */
  readonly lives: (Client | null)[]
  readonly #log = new MemoryHistory()
  readonly #faults: FaultInjector
  readonly #toLook: Client[] = []
  readonly #strayOwners = new Set<string>()
  /** Who held a lock on a server when another took over from it. */
  readonly #leftOwners = new Set<string>()
  /** Clients that are still to be started. */
  expected = 0
  /** Something went on without end: nothing more happens. */
  #endless = false

  /** @param scripts compiled once, and shared by all worlds */
  constructor(plan: Plan, scripts: ScriptCache) {
    this.plan = plan
    this.recorder = new HistoryRecorder({
      process: 'world',
      log: this.#log,
      time: () => this.scheduler.now,
    })
    const replicated = plan.faults.some(({ kind }) => kind === 'failover')
    const { nodes } = plan
    this.cluster =
      nodes === undefined
        ? null
        : new ModelCluster(this.scheduler, new Dice(seedFor(plan.seed, 50)), { scripts, clocks: nodes })
    this.server =
      this.cluster?.hosts[0] ??
      new ServerHost(this.scheduler, new ModelServer({ scripts, replicated }), plan.server)
    if (plan.reopenDelay !== undefined) this.#isOpen(plan.reopenDelay)
    const locks = plan.names.map((name) => ({ name, key: lockAddress(PREFIX, name).key }))
    this.storeLog = new StoreLog(
      (key) => this.serverOf(key),
      this.recorder,
      locks,
      (name, ms) => this.see('INV-T1', name, `The server cut the lease of ${name} short by ${ms} ms.`),
    )
    if (this.cluster === null) this.server.onChanged = (cause) => this.storeLog.look(cause)
    else this.cluster.onChanged = (cause) => this.storeLog.look(cause)
    this.resource = new GuardedResource(this.recorder)
    this.lives = plan.clients.map(() => null)
    this.#faults = new FaultInjector(this)
  }

  /**
   * Runs to the end. It yields after everything that happens, and goes on when all that follows from it at once has settled:
   * whoever drives it sees to that.
   */
  *play(): Play<WorldResult> {
    const deaf = this.plan.tells === true ? this.epochs.listen() : null
    try {
      this.#faults.arm()
      for (const index of this.plan.clients.keys()) this.start(index)
      yield* this.playUntil(() => !this.#isWorking, LAST_MOMENT)
      this.#faults.heal()
      yield* new Finale(this).play()
    } finally {
      deaf?.()
    }
    return {
      records: this.#log.records,
      seen: this.seen,
      happenings: this.scheduler.count,
      refusedWrites: this.resource.refused,
      traffic: this.traffic,
      epochs: this.epochs,
      broughtBack: this.storeLog.broughtBack,
      strayOwners: this.#strayOwners,
      owners: new Map(this.clients.map(({ ownersBegin, process }) => [ownersBegin, process.name])),
      time: this.scheduler.now,
    }
  }

  /** Lets things happen until something is so, or until a time. */
  *playUntil(isSo: () => boolean, until: number): Play<void> {
    yield
    while (!isSo()) {
      if (!this.#step(until)) return this.scheduler.passTo(until)
      yield
      for (const client of this.#toLook.splice(0)) client.look()
    }
  }

  #step(until: number): boolean {
    if (this.scheduler.count > MOST_HAPPENINGS) {
      if (!this.#endless)
        this.see('INV-L1', null, `More than ${MOST_HAPPENINGS} things happened, and no end.`)
      this.#endless = true
      return false
    }
    try {
      return this.scheduler.step(until)
    } catch (error) {
      this.recorder.leak('rejection', `thrown in a callback: ${textOf(error)}`)
      return true
    }
  }

  /** Which server has a key, or would get it. */
  serverOf(key: string): ServerHost {
    return this.cluster?.placeOf(key) ?? this.server
  }

  /** All servers that have something. */
  get servers(): readonly ServerHost[] {
    return this.cluster?.hosts ?? [this.server]
  }

  /** A server is gone, and what it has not passed on with it. */
  lose(old: ServerHost): void {
    for (const owner of this.#holdersOn(old)) this.#leftOwners.add(owner)
  }

  /** Another server is the primary from now on. */
  follow(next: ServerHost): void {
    const old = this.server
    this.lose(old)
    old.onChanged = () => this.#noteStray(old)
    this.server = next
    next.onChanged = (cause) => this.storeLog.look(cause)
    this.storeLog.look('failover')
    for (const { path } of this.clients) if (path instanceof Path) path.leadTo(next)
  }

  /** The option is not new here: the server has granted before, and said so to its replicas. */
  #isOpen(reopenDelay: number): void {
    const { run, copies } = this.server.model.identity
    const record = `${run} ${copies} ${reopenDelay} 0`
    this.server.before(['SET', `${PREFIX}:epoch`, record, 'PX', String(30 * DAY_MS)])
  }

  /** A server that was left behind goes on granting. */
  #noteStray(old: ServerHost): void {
    for (const owner of this.#holdersOn(old)) this.#strayOwners.add(owner)
  }

  *#holdersOn({ model, nowMicros }: ServerHost): Generator<string> {
    for (const name of this.plan.names) {
      const value = model.value(lockAddress(PREFIX, name).key, nowMicros)
      if (typeof value === 'string') yield value.split('#')[0] ?? ''
    }
  }

  /** Begins a life of a client of the plan. */
  start(index: number): void {
    const plan = this.plan.clients[index] as ClientPlan
    const client = this.open(`client-${index + 1}`, plan.family, plan.traits, index)
    this.lives[index] = client
    for (const caller of plan.callers) {
      client.working += 1
      new Caller(client, {
        names: this.plan.names,
        resource: this.resource,
        limiters: this.plan.limiters,
        runs: this.plan.runs,
        traffic: this.traffic,
        instant: () => this.server.instant,
        longestWork: longestWork(this.plan),
        forcing: (name, from) => this.forcing(name, from),
        forced: (name, holder) => this.forced(name, holder),
        abortedLate: (ms) =>
          this.see('INV-H1', null, `An acquire that was aborted settled only ${ms.toFixed(1)} ms later.`),
      })
        .run(caller)
        .catch((error: unknown) => this.recorder.leak('rejection', `a caller failed: ${textOf(error)}`))
        .finally(() => {
          client.working -= 1
        })
        .catch(() => undefined)
    }
  }

  /** Starts a process with the library in it. */
  open(name: string, family: ClientPlan['family'], traits: ProcessTraits, index: number | null): Client {
    const life = this.clients.length
    const seed = seedFor(this.plan.seed, 100 + life)
    const unique = this.clients.some(({ process }) => process.name === name) ? `${name}-${life}` : name
    const process = new ClientProcess(unique, this.scheduler, traits, seedFor(seed, 1))
    const dice = new Dice(seedFor(seed, 2))
    const { delay } = this.plan
    const path =
      this.cluster === null
        ? new Path({ client: process, server: this.server, dice, delay })
        : new ClusterPaths({ client: process, cluster: this.cluster, dice, delay })
    const client: Client = new Client({
      process,
      path,
      family,
      budget: this.plan.budget,
      reopenDelay: this.plan.reopenDelay,
      tells: this.plan.tells === true,
      log: this.#log,
      seed: seedFor(seed, 3),
      onSent: (command, role) => {
        if (command[0] === 'INFO') this.epochs.looks.push({ process: unique, time: process.time })
        if (index === null || role !== 'commands') return
        const script = scriptIn(command)
        if (script === 'limit-recount') client.recounts += 1
        this.#sent(index, script)
      },
      onReply: (each) => this.#toLook.push(each),
    })
    this.clients.push(client)
    return client
  }

  /** A lock is about to be taken away by force: whoever holds it may lose it from now on. */
  forcing(name: string, from: number): void {
    const until = this.scheduler.now + 4 * this.plan.budget + 1_000
    this.recorder.fault({ cause: 'forced release', breaks: ['leases'], name, from, until })
  }

  /** Somebody was told that a lock was taken from its holder by force. */
  forced(name: string, holder: string): void {
    // What a server does that was left behind is not seen.
    if (this.storeLog.forcedOwners.has(holder)) return
    if (this.#strayOwners.has(holder) || this.#leftOwners.has(holder)) return
    this.see('INV-H2', name, `A forced release said that it took ${name} from ${holder}, and did not.`)
  }

  see(invariant: Seen['invariant'], name: string | null, sentence: string): void {
    this.seen.push({ invariant, name, sentence })
  }

  /** What was recorded so far. */
  get records(): readonly HistoryRecord[] {
    return this.#log.records
  }

  /** The keys that are on the server now. */
  noteKeys(): void {
    this.storeLog.seeAll()
    for (const { model, nowMicros } of this.servers) {
      for (const key of model.keys(nowMicros)) {
        const left = model.pttl(key, nowMicros)
        this.recorder.key({ key, expiresIn: left === -1 ? null : left })
      }
    }
  }

  get #isWorking(): boolean {
    return this.expected > 0 || this.clients.some(({ process, working }) => process.alive && working > 0)
  }

  #sent(index: number, script: ScriptName | null): void {
    if (script !== null) this.#faults.sent(index, script)
  }
}

/** The longest that a work may take that runs once, with its event loop blocked. */
function longestWork({ clients }: Plan): number {
  const steps = clients.flatMap(({ callers }) => callers.flatMap(({ steps: each }) => each))
  const lengths = steps.map((step) =>
    step.kind === 'once' ? step.work.reduce((sum, part) => sum + Math.abs(part), 0) : 0,
  )
  return Math.max(0, ...lengths) + Math.max(0, ...clients.map(({ traits }) => 2 * traits.lateness))
}

function textOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

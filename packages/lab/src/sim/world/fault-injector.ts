import { lockAddress, type Assumption } from 'holdfast/testing'
import type { Client } from '../client/client.ts'
import type { Fault, Moment, ScriptName } from '../plan/plan.ts'
import { befallNode } from './cluster-faults.ts'
import { failOver, type FailoverFault } from './failover.ts'
import type { World } from './world.ts'

type TriggeredBy = Extract<Moment, { client: number }>

/** What the history says of a machine that slept. */
export const ASLEEP = 'asleep'
/** What the history says of a machine that slept and whose wall clock was set back: nothing is promised then. */
export const BLINDED = 'slept, and wall clock set back'
/** What the history says of a server whose clock was set back: its leases last longer by as much. */
export const SET_BACK = "server's clock set back"
/** What the history says of data that were lost, or were as they had been a while before. */
export const DATA_LOST = 'data lost at a restart'
/** What the history says of a replica that took over. */
export const FAILED_OVER = 'failover'
/** Faults after which data are as they had been a while before. */
export const BRINGS_BACK: ReadonlySet<string> = new Set([DATA_LOST, FAILED_OVER])
/** What the history says of answers that do not arrive, while requests do. */
export const ANSWERS_CUT = 'answers cut'
/** What the history says of a wall clock that was set. */
export const WALL_STEPPED = 'wall clock stepped'

/** Lets the faults of a plan befall a world, and tells the history what they break. */
export class FaultInjector {
  readonly #world: World
  readonly #triggers: { readonly by: TriggeredBy; readonly fault: Fault; done: boolean }[] = []
  readonly #sent = new Map<string, number>()
  readonly #blinded = new Map<Client, Set<'slept' | 'set back'>>()
  #healed = false
  /** Whether the last fence was ever lost. */
  #fenceLost = false

  constructor(world: World) {
    this.#world = world
  }

  arm(): void {
    const { plan, scheduler } = this.#world
    for (const fault of plan.faults) {
      const { when } = fault
      if ('at' in when) scheduler.at(when.at, null, () => this.#befall(fault))
      else this.#triggers.push({ by: when, fault, done: false })
    }
  }

  /** A client of the plan has just sent a request. */
  sent(client: number, script: ScriptName): void {
    if (this.#triggers.length === 0) return
    const id = `${client} ${script}`
    const count = (this.#sent.get(id) ?? 0) + 1
    this.#sent.set(id, count)
    const { scheduler } = this.#world
    for (const trigger of this.#triggers) {
      const { by, fault } = trigger
      if (trigger.done || by.client !== client || by.script !== script || by.nth !== count) continue
      trigger.done = true
      scheduler.at(scheduler.now + by.after, null, () => this.#befall(fault))
    }
  }

  /** All is well again, and stays so. */
  heal(): void {
    this.#healed = true
    const { server, clients, cluster } = this.#world
    cluster?.heal()
    if (server.down && cluster === null) server.comeBack('all')
    for (const old of this.#world.leftBehind) old.goDown()
    server.refusal = null
    for (const { path } of clients) path.heal()
  }

  #befall(fault: Fault): void {
    if (this.#healed) return
    if ('client' in fault) {
      const client = this.#world.lives[fault.client]
      if (client?.process.alive === true) this.#befallClient(client, fault)
    } else this.#befallServer(fault)
  }

  #befallClient(client: Client, fault: Extract<Fault, { client: number }>): void {
    const { process, path, recorder } = client
    switch (fault.kind) {
      case 'reset':
        this.#service(`${fault.kind} of a connection`, fault.away ?? 0, client)
        return path.reset(fault.roles, fault.fate, fault.away)
      case 'hold':
        this.#service(fault.direction === 'down' ? ANSWERS_CUT : 'cut', fault.for, client)
        return path.hold(fault.direction, fault.for)
      case 'slow':
        // What leaves within this time is under way for longer, and its answer too.
        this.#service('slow', fault.for + 2 * fault.delay.to, client)
        return path.slow(fault.delay, fault.for)
      case 'stop':
      case 'sleep': {
        const from = process.time
        if (fault.kind === 'stop') process.busyFor(fault.for, fault.catching)
        else process.sleepFor(fault.for, fault.catching)
        recorder.stop({ from, until: process.time, cause: fault.kind === 'stop' ? 'stopped' : ASLEEP })
        if (fault.kind === 'sleep') this.#blind(client, 'slept')
        return
      }
      case 'step-wall':
        this.#world.recorder.fault({
          cause: WALL_STEPPED,
          breaks: [],
          from: process.time,
          until: process.time,
          subject: process.name,
        })
        if (fault.by < 0) this.#blind(client, 'set back')
        return process.clock.stepWall(fault.by)
      case 'close':
        return this.#close(client, fault.release)
      case 'kill':
        return this.#kill(client, fault)
    }
  }

  /** A machine that sleeps, and whose wall clock is set back, has no clock left that tells it how long it slept. */
  #blind(client: Client, what: 'slept' | 'set back'): void {
    const known = this.#blinded.get(client) ?? new Set()
    this.#blinded.set(client, known.add(what))
    if (known.size < 2) return
    const { recorder, process } = client
    recorder.fault({ cause: BLINDED, breaks: ['timing'], from: 0, until: null, subject: process.name })
  }

  #close(client: Client, release: boolean): void {
    const { scheduler } = this.#world
    scheduler.at(scheduler.now, client.process, () => {
      if (!client.closing) void client.close({ release })
    })
  }

  #kill(client: Client, fault: Extract<Fault, { kind: 'kill' }>): void {
    const world = this.#world
    client.process.kill()
    client.path.hangUp()
    world.recorder.death(client.process.name)
    world.lives[fault.client] = null
    if (fault.restartAfter === null) return
    world.expected += 1
    world.scheduler.at(world.scheduler.now + fault.restartAfter, null, () => {
      world.expected -= 1
      world.start(fault.client)
    })
  }

  #befallServer(fault: Exclude<Fault, { client: number }>): void {
    const { server, storeLog, scheduler } = this.#world
    switch (fault.kind) {
      case 'freeze':
        server.busyFor(fault.for)
        return this.#service('frozen server', server.busyUntil - scheduler.now)
      case 'refuse':
        return this.#refuse(fault.error, fault.for)
      case 'script-flush':
        server.model.execute(['SCRIPT', 'FLUSH'], server.nowMicros)
        return
      case 'restart':
        return this.#restart(fault)
      case 'failover':
        return this.#failOver(fault)
      case 'evict':
        return this.#evict(fault)
      case 'flush':
        if (this.#wouldBreakFences(server.nowMicros)) return
        this.#fenceLost = true
        this.#lost('flushed')
        server.flush()
        return storeLog.look('flushed')
      case 'step-server':
        return this.#step(fault.by)
      case 'move-slot':
      case 'node-dies':
      case 'node-freezes':
        return befallNode(this.#world, fault)
    }
  }

  #refuse(error: string, ms: number): void {
    const { server, scheduler } = this.#world
    this.#service('refusing server', ms)
    server.refusal = error
    scheduler.at(scheduler.now + ms, null, () => {
      server.refusal = null
    })
  }

  #restart(fault: Extract<Fault, { kind: 'restart' }>): void {
    const { server, scheduler } = this.#world
    if (server.down) return
    const loses = fault.survival !== 'all'
    if (loses && this.#wouldBreakFences(server.nowMicros)) return
    // A look into the past: what was there then is noted now, and what is done until it goes down is lost.
    if (fault.survival === 'as-noted') server.note()
    const goesDown = scheduler.now + (fault.survival === 'as-noted' ? fault.lag : 0)
    scheduler.at(goesDown, null, () => {
      if (this.#healed || server.down || server !== this.#world.server) return
      // The clock may have been set back meanwhile.
      if (loses && this.#wouldBreakFences(server.nowMicros)) return
      if (loses) {
        this.#fenceLost = true
        this.#lost(DATA_LOST, fault.for)
      }
      this.#service('restart', fault.for)
      server.goDown()
      scheduler.at(scheduler.now + fault.for, null, () => {
        if (!server.down) return
        server.comeBack(fault.survival)
      })
    })
  }

  #failOver(fault: FailoverFault): void {
    const { server, recorder, scheduler } = this.#world
    if (server.down || this.#wouldBreakFences(server.nowMicros + Math.min(0, fault.by) * 1_000)) return
    this.#fenceLost = true
    const until = scheduler.now + fault.for
    // While two servers grant, neither knows of the other's fences.
    const breaks: Assumption[] = fault.split === null ? ['leases'] : ['leases', 'clocks']
    recorder.fault({ cause: FAILED_OVER, breaks, from: scheduler.now, until })
    this.#service(FAILED_OVER, fault.for)
    failOver(this.#world, fault)
    if (fault.by !== 0) this.#step(fault.by)
  }

  #evict({ what, name }: Extract<Fault, { kind: 'evict' }>): void {
    const { server, storeLog, plan } = this.#world
    const address = lockAddress('holdfast:v1', plan.names[name] as string)
    if (what === 'fence') {
      if (this.#wouldBreakFences(server.nowMicros)) return
      this.#fenceLost = true
    }
    if (what === 'lock') this.#lost('evicted', 0, plan.names[name])
    const keys = { lock: address.key, fence: address.fenceKey, queue: address.queueKey }
    server.model.evict(keys[what])
    storeLog.look('evicted')
  }

  #step(by: number): void {
    const { server, storeLog } = this.#world
    // While the last fence is lost, only time carries fences on.
    if (by < 0 && this.#fenceLost && this.#wouldBreakFences(server.nowMicros + by * 1_000)) return
    if (by > 0) this.#lost('clock stepped forward')
    else {
      const { recorder, scheduler } = this.#world
      recorder.fault({ cause: SET_BACK, breaks: [], from: scheduler.now, until: scheduler.now })
    }
    server.stepClock(by)
    storeLog.lookAgain('clock stepped')
  }

  /**
   * Whether fences could fall if the last one were lost at this time of the server's clock: the one thing that the design
   * does not promise. Such a fault is left out.
   */
  #wouldBreakFences(micros: number): boolean {
    return BigInt(Math.max(0, Math.floor(micros))) <= this.#world.storeLog.highestFence
  }

  #lost(cause: string, lasts = 0, name?: string): void {
    const { recorder, scheduler } = this.#world
    const until = scheduler.now + lasts
    recorder.fault({
      cause,
      breaks: ['leases'],
      from: scheduler.now,
      until,
      ...(name === undefined ? {} : { name }),
    })
  }

  #service(cause: string, lasts: number, client?: Client): void {
    const { recorder, scheduler } = this.#world
    const subject = client === undefined ? {} : { subject: client.process.name }
    recorder.fault({
      cause,
      breaks: ['service'],
      from: scheduler.now,
      until: scheduler.now + lasts,
      ...subject,
    })
  }
}

import { ACQUIRE_RULES, type AcquireRules } from './acquire-rules.ts'
import type { Model, Step } from './explore.ts'
import { AcquireServer, type Standing } from './acquire-server.ts'

/** How far the search goes. Times are in ticks. */
export interface AcquireBounds {
  readonly ticks: number
  readonly ttl: number
  readonly budget: number
  /** How often one call of each client may ask. */
  readonly asks: readonly [number, number]
  /** How often one owner may be released. */
  readonly releases: number
  /** Calls of the first client, and of the second. */
  readonly calls: readonly [number, number]
  /** Requests that the client's connection sends again by itself. */
  readonly copies: number
}

type Phase = 'idle' | 'asking' | 'holding' | 'releasing' | 'done'

interface Client {
  readonly phase: Phase
  /** Which of its calls this is. */
  readonly call: number
  readonly asks: number
  /** When the last request was sent. */
  readonly sent: number
  /** The last moment at which a copy of what was asked under this owner can be granted. */
  readonly last: number
  /** Whether copies of what was asked may still be under way. */
  readonly open: boolean
  readonly began: number
  readonly deadline: number
  readonly releases: number
}

interface Request {
  readonly client: 0 | 1
  readonly call: number
  readonly kind: 'acquire' | 'release'
  /** Which ask or release. */
  readonly nth: number
  readonly sent: number
  readonly notAfter: number
  /** Tells it apart. */
  readonly id: string
}

interface Answer extends Request {
  readonly told: string
  readonly at: number
}

export interface AcquireState {
  readonly now: number
  readonly lock: Standing
  readonly requests: readonly Request[]
  readonly answers: readonly Answer[]
  readonly clients: readonly [Client, Client]
  readonly copies: number
  /** Owners that are over and done with: nothing of theirs may be there any more. */
  readonly over: string
}

const IDLE: Client = {
  phase: 'idle',
  call: 0,
  asks: 0,
  sent: 0,
  last: -1,
  open: false,
  began: 0,
  deadline: 0,
  releases: 0,
}

/**
 * Two clients acquire a lock, ask again when nothing comes, give back what they hold and what they gave up, by the shipped scripts:
 * over a network on which any request and any answer may come at any time, twice, or never.
 */
export function acquireModel(
  bounds: AcquireBounds,
  rules: AcquireRules = ACQUIRE_RULES,
): Model<AcquireState> {
  const server = new AcquireServer(rules, bounds.ttl)
  const { ttl, budget } = bounds

  return {
    start: { now: 0, lock: null, requests: [], answers: [], clients: [IDLE, IDLE], copies: 0, over: '' },
    *next(state) {
      if (state.now < bounds.ticks) yield { what: 'a tick', state: ticked(state) }
      for (const index of [0, 1] as const) yield* acting(state, index)
      for (const request of state.requests) yield arriving(state, request)
      for (const answer of state.answers) yield answering(state, answer)
      if (state.copies < bounds.copies) for (const request of state.requests) yield* copied(state, request)
    },
    keyOf,
    wrong,
  }

  function ticked(state: AcquireState): AcquireState {
    const now = state.now + 1
    const lock = state.lock !== null && state.lock.until > now ? state.lock : null
    const clients = state.clients.map((client, index) =>
      client.phase === 'holding' && now >= client.deadline ? ended(client, index) : client,
    ) as [Client, Client]
    const later = { ...state, now, lock, clients }
    // What nobody waits for, and is refused as late from now on, changes nothing any more.
    const requests = state.requests.filter(
      (request) =>
        request.kind === 'release' || isAwaited(later, request) || executed(later, request).told !== 'late',
    )
    return settled({ ...later, requests })
  }

  /** Its lease is over: it is told so, and begins its next call. What stands there runs out. */
  function ended(client: Client, index: number): Client {
    return client.call + 1 < (bounds.calls[index] ?? 0)
      ? { ...IDLE, call: client.call + 1 }
      : { ...IDLE, call: client.call, phase: 'done' }
  }

  function* acting(state: AcquireState, index: 0 | 1): Generator<Step<AcquireState>> {
    const client = state.clients[index]
    const { phase, sent } = client
    if (phase === 'idle' && bounds.calls[index] > client.call)
      yield { what: `${named(index)} asks`, state: asked(state, index, { ...client, began: state.now }) }
    if (phase === 'asking' && state.now > sent)
      yield { what: `${named(index)} has waited long enough`, state: unknown(state, index) }
    if (phase === 'holding')
      yield { what: `${named(index)} gives it back`, state: released(state, index, client) }
    if (phase === 'releasing' && state.now > sent && client.releases < bounds.releases)
      yield { what: `${named(index)} releases again`, state: released(state, index, client) }
  }

  function asked(state: AcquireState, index: 0 | 1, client: Client): AcquireState {
    // The server's time as the client knows it is that of the last reply and what passed since: never ahead of it.
    const notAfter = state.now + budget
    const nth = client.asks + 1
    const next: Client = {
      ...client,
      phase: 'asking',
      asks: nth,
      sent: state.now,
      last: notAfter,
      open: client.open || nth > 1,
    }
    const request = requestOf(index, client.call, { kind: 'acquire', nth, sent: state.now, notAfter })
    return send(withClient(state, index, next), request)
  }

  function unknown(state: AcquireState, index: 0 | 1): AcquireState {
    const client = { ...state.clients[index], open: true }
    if (client.asks < bounds.asks[index] && state.now < client.began + budget)
      return asked(state, index, client)
    return givenUp(state, index, client)
  }

  function givenUp(state: AcquireState, index: 0 | 1, client: Client): AcquireState {
    return rules.compensates ? released(state, index, client) : done(state, index, client)
  }

  function released(state: AcquireState, index: 0 | 1, client: Client): AcquireState {
    const nth = client.releases + 1
    const next: Client = {
      ...client,
      phase: 'releasing',
      releases: nth,
      sent: state.now,
      asks: 0,
      began: 0,
      deadline: 0,
    }
    const request = requestOf(index, client.call, { kind: 'release', nth, sent: state.now, notAfter: 0 })
    return send(withClient(state, index, next), request)
  }

  function done(state: AcquireState, index: 0 | 1, client: Client): AcquireState {
    const over = rules.reusesOwners ? '' : state.over + ownerOf(index, client.call)
    return withClient({ ...state, over: inOrder(over) }, index, ended(client, index))
  }

  function executed(
    { lock, now }: AcquireState,
    { client, call, kind, notAfter }: Request,
  ): { lock: Standing; told: string } {
    const owner = ownerOf(client, call)
    return kind === 'acquire'
      ? server.acquire(owner, notAfter, { lock, now })
      : server.release(owner, { lock, now })
  }

  function arriving(state: AcquireState, request: Request): Step<AcquireState> {
    const { lock, told } = executed(state, request)
    const requests = without(state.requests, request)
    const answer = { ...request, told, at: state.now, id: `${request.id}=${told}@${state.now}` }
    const answers = isAwaited(state, request) ? sorted([...state.answers, answer]) : state.answers
    const what = `the ${request.kind} ${request.nth} of ${named(request.client)} arrives: ${told}`
    return { what, state: { ...state, lock, requests, answers } }
  }

  function answering(state: AcquireState, answer: Answer): Step<AcquireState> {
    const what = `${named(answer.client)} hears: ${answer.told}`
    const answers = without(state.answers, answer)
    const rest = { ...state, answers }
    if (!isAwaited(state, answer)) return { what, state: rest }
    const index = answer.client
    const client = state.clients[index]
    if (answer.kind === 'release') {
      const isOver = !client.open || rules.releaseEnds === 'answered' || answer.at > client.last
      return { what, state: isOver ? done(rest, index, client) : rest }
    }
    return { what, state: heard(rest, index, answer) }
  }

  function heard(state: AcquireState, index: 0 | 1, { told, sent }: Answer): AcquireState {
    const client = state.clients[index]
    if (told === 'late') return rules.lateIsRefused ? done(state, index, client) : unknown(state, index)
    if (told === 'busy') {
      const isSure = !client.open || rules.believesCopies
      return isSure ? done(state, index, client) : givenUp(state, index, client)
    }
    const deadline = rules.deadline(sent, state.now, ttl)
    if (state.now >= deadline && !rules.handsOverLate) return givenUp(state, index, client)
    return withClient(state, index, { ...client, phase: 'holding', deadline, sent: 0, began: 0 })
  }

  function* copied(state: AcquireState, request: Request): Generator<Step<AcquireState>> {
    if (request.kind !== 'acquire') return
    const index = request.client
    const client = state.clients[index]
    if (client.call !== request.call || client.phase !== 'asking' || client.asks !== request.nth) return
    const next = withClient({ ...state, copies: state.copies + 1 }, index, { ...client, open: true })
    yield {
      what: `the connection of ${named(index)} breaks, and its ask is sent again`,
      state: send(next, request),
    }
  }

  function wrong(state: AcquireState): string | null {
    const owner = state.lock?.owner ?? null
    for (const [index, client] of state.clients.entries()) {
      if (client.phase !== 'holding') continue
      if (owner !== ownerOf(index, client.call))
        return `${named(index)} counts on a lock that is not its own (INV-T1, INV-M2)`
    }
    if (owner !== null && state.over.includes(owner))
      return 'a lock stands for an owner that is done with it (INV-H2)'
    return null
  }

  function ownerOf(client: number, call: number): string {
    return `${named(client)}${'x'.repeat(20)}${rules.reusesOwners ? 0 : call}`
  }
}

function isAwaited({ clients }: AcquireState, { client, call, kind, nth }: Request): boolean {
  const now = clients[client]
  if (now === undefined || now.call !== call) return false
  // An answer to an earlier ask is one to the owner, and as good.
  return kind === 'acquire'
    ? now.phase === 'asking' && nth <= now.asks
    : now.phase === 'releasing' && nth <= now.releases
}

function requestOf(client: 0 | 1, call: number, what: Omit<Request, 'client' | 'call' | 'id'>): Request {
  const { kind, nth, sent, notAfter } = what
  return { client, call, ...what, id: `${client}${call}${kind}${nth}:${sent}:${notAfter}` }
}

function send(state: AcquireState, request: Request): AcquireState {
  return { ...state, requests: sorted([...state.requests, request]) }
}

function sorted<T extends { readonly id: string }>(items: T[]): T[] {
  return items.sort((one, other) => (one.id < other.id ? -1 : 1))
}

/** The same without one of these, of which there may be several. */
function without<T>(items: readonly T[], item: T): T[] {
  const at = items.indexOf(item)
  return items.filter((_, index) => index !== at)
}

function withClient(state: AcquireState, index: 0 | 1, client: Client): AcquireState {
  const clients: AcquireState['clients'] =
    index === 0 ? [client, state.clients[1]] : [state.clients[0], client]
  return settled({ ...state, clients })
}

/** Answers that nobody waits for are forgotten. */
function settled(state: AcquireState): AcquireState {
  if (state.answers.every((answer) => isAwaited(state, answer))) return state
  return { ...state, answers: state.answers.filter((answer) => isAwaited(state, answer)) }
}

/** Owners, 22 characters each, in their order. */
function inOrder(owners: string): string {
  return (owners.match(/.{22}/g) ?? []).sort().join('')
}

function keyOf({ now, lock, requests, answers, clients, copies, over }: AcquireState): string {
  let key = `${now} ${copies} ${over} ${lock === null ? '' : lock.owner + lock.until}`
  for (const { phase, call, asks, sent, last, open, began, deadline, releases } of clients)
    key += `|${phase} ${call} ${asks} ${sent} ${last} ${open ? 1 : 0} ${began} ${deadline} ${releases}`
  for (const { id } of requests) key += `>${id}`
  for (const { id } of answers) key += `<${id}`
  return key
}

const named = (index: number): string => (index === 0 ? 'A' : 'B')

import acquire from '../../../../holdfast/src/stores/redis/lua/acquire.lua'
import raise from '../../../../holdfast/src/stores/redis/lua/raise.lua'
import { ScriptedServer, textAt, type Data, type Script } from '../../sim/search/scripted-server.ts'

/** The scripts of a node, as shipped or with a rule taken out. */
export interface NodeScripts {
  readonly acquire: Script
  readonly raise: Script
}

export const NODE_SCRIPTS: NodeScripts = { acquire, raise }

/** What a node knows. Fences and clocks are small numbers, above a base that is the same for all. */
export interface Node {
  /** The last fence; 0 when none is known. */
  readonly last: number
  /** Which grant stands in the lock, and the node's own fence of it. */
  readonly lock: { readonly grant: number; readonly fence: number } | null
  readonly clock: number
}

const BASE = 1_700_000_000_000_000
const FAR = '9000000000000'
const RETENTION = '86400000'
const TTL = '60000'
const TAIL = '@h:1'

const idOf = (grant: number): string => `grant${grant}`.padEnd(22, 'x')

type GrantedNode = Node & { readonly lock: { readonly grant: number; readonly fence: number } }

/** The fence as the answer: its own is higher. */
interface Raised {
  readonly node: Node
  readonly answer: string | number
}

/** Runs the scripts on the nodes of a small world: the same every time. */
export class Nodes {
  readonly #scripts: NodeScripts
  readonly #server = new ScriptedServer()
  /** What was worked out before. */
  readonly #acquired = new Map<string, GrantedNode>()
  readonly #raised = new Map<string, Raised>()

  constructor(scripts: NodeScripts) {
    this.#scripts = scripts
  }

  /** What becomes of a node whose lock is free when a grant is asked for. */
  acquire(node: Node, grant: number): GrantedNode {
    return known(this.#acquired, `${node.last} ${node.clock} ${grant}`, () => {
      const { data } = this.#run(this.#scripts.acquire, node, {
        keys: ['fence', 'lock', 'queue'],
        args: ['call', 'process', RETENTION, TTL, '', TAIL, FAR, idOf(grant)],
      })
      const fence = Number(textAt(data, 'lock')?.split('#')[1]) - BASE
      return { clock: node.clock, last: numberAt(data, 'fence'), lock: { grant, fence } }
    })
  }

  /** What a node answers when a fence is to be confirmed. */
  raise(node: Node, grant: number, fence: number): Raised {
    const { last, lock, clock } = node
    return known(this.#raised, `${last} ${clock} ${lock?.grant} ${lock?.fence} ${grant} ${fence}`, () => {
      const { data, reply } = this.#run(this.#scripts.raise, node, {
        keys: ['fence', 'lock'],
        args: ['call', RETENTION, TAIL, `${idOf(grant)}#${BASE + fence}`],
      })
      const [kind = '', own] = (reply as [string, string, string[]])[2]
      return {
        node: { ...node, last: numberAt(data, 'fence') },
        answer: kind === 'higher' ? Number(own) - BASE : kind,
      }
    })
  }

  #run(
    script: Script,
    { last, lock, clock }: Node,
    call: { readonly keys: readonly string[]; readonly args: readonly string[] },
  ) {
    const data: (readonly [string, string, number | null])[] = []
    if (last > 0) data.push(['fence', String(BASE + last), null])
    if (lock !== null) data.push(['lock', `${idOf(lock.grant)}${TAIL}#${BASE + lock.fence}`, null])
    return this.#server.run(script, call, { data, micros: BASE + clock })
  }
}

function numberAt(data: Data, key: string): number {
  const text = textAt(data, key)
  return text === null ? 0 : Number(text) - BASE
}

function known<V>(table: Map<string, V>, key: string, make: () => V): V {
  let value = table.get(key)
  if (value === undefined) table.set(key, (value = make()))
  return value
}

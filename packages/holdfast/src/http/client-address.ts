import { InvalidArgumentError } from '../errors.ts'
import { show } from '../show.ts'
import { checkOptions } from '../options.ts'
import { readForwarded, readXForwardedFor } from './forwarded.ts'
import { firstBits, formatIp, isIpv4, parseNode, type IpAddress } from './ip-address.ts'
import { contains, parseNetwork, type Network } from './network.ts'
import type { HttpRequest } from './request.ts'

/** What {@link clientAddress} takes. Without `trustedHops` and `trustedProxies` only the socket's own address counts. */
export interface ClientAddressOptions {
  /**
   * How many proxies of yours stand before the application; 0 says that there is none. Only where nobody can reach the
   * application past them: who can, may write what the last proxy would have written.
   */
  trustedHops?: number
  /** The addresses of your proxies, as `['10.0.0.0/8', 'fd00::/8']`: the client is the first from the right that is none of them. */
  trustedProxies?: readonly string[]
  /** Where your proxies write for whom they ask. Read only as far as you trust them. Default `'x-forwarded-for'`. */
  header?: 'x-forwarded-for' | 'forwarded'
  /** IPv6 addresses with the same first bits are one client: a household commonly gets a /64. 1 to 128; default 64. */
  ipv6Prefix?: number
}

/** Makes the key of a request out of its client's address; for the option `key`. */
export interface ClientAddressKey {
  (request: HttpRequest): string
  /** As the shells call it: with the framework's own request, and with what the core sees of it. */
  (request: unknown, view: HttpRequest): string
}

/** A key for clients without an address: those behind a Unix socket, and those who are gone already. They share it. */
export const NO_ADDRESS = 'no-address'

const OPTIONS = ['trustedHops', 'trustedProxies', 'header', 'ipv6Prefix']
const DEFAULT_IPV6_PREFIX = 64
const MOST_HOPS = 32

/** Options, checked. `trust` is `null` when nothing was said about proxies. */
interface Checked {
  readonly trust: { readonly hops: number } | { readonly networks: readonly Network[] } | null
  readonly header: 'x-forwarded-for' | 'forwarded'
  readonly ipv6Prefix: number
}

/**
 * The client's address as a key: IPv4 as `1.2.3.4`, however it is spelt (`::ffff:102:304`), IPv6 by its first 64 bits as
 * `2001:db8:0:1::/64`.
 *
 * Proxies are trusted only as far as declared; the leftmost forwarded address is the client's own invention unless every
 * address right of it is trusted. Where the header has something else than an address at the place that counts (`unknown`,
 * nonsense), the socket's address is the key: such requests share the key of their proxy. The function made never throws; it
 * tells once by a process warning when it falls back in this way (`HOLDFAST_FORWARDED_UNREADABLE`), and when a request has
 * such a header although nothing was said about proxies (`HOLDFAST_UNDECLARED_PROXY`).
 *
 * @throws InvalidArgumentError that names option, value and remedy
 */
export function clientAddress(options: ClientAddressOptions = {}): ClientAddressKey {
  const checked = checkClientAddressOptions(options)
  const warn = warnings()
  return (request: unknown, view: HttpRequest = request as HttpRequest): string => {
    if (checked.trust === null && isForwarded(view)) warn.undeclared()
    const { address, unreadable } = addressOf(view, checked)
    if (unreadable !== null) warn.unreadable(checked.header, unreadable)
    return address === null ? NO_ADDRESS : keyOf(address, checked.ipv6Prefix)
  }
}

function isForwarded({ headers }: HttpRequest): boolean {
  return headers.get('x-forwarded-for') !== null || headers.get('forwarded') !== null
}

/** The client's address by the declared trust; `unreadable` is what stood where an address was expected. */
function addressOf(
  request: HttpRequest,
  { trust, header }: Checked,
): { address: IpAddress | null; unreadable: string | null } {
  const peer = request.remoteAddress === undefined ? null : parseNode(request.remoteAddress)
  const value = trust === null ? null : request.headers.get(header)
  if (trust === null || value === null) return { address: peer, unreadable: null }
  const entries = header === 'forwarded' ? readForwarded(value) : readXForwardedFor(value)
  if (entries === null) return { address: peer, unreadable: value }
  let address = peer
  for (let hops = 0; isTrusted(trust, hops, address); hops += 1) {
    const entry = entries[entries.length - 1 - hops]
    // The chain ends at a proxy of ours: it is the farthest that is known.
    if (entry === undefined) break
    address = parseNode(entry)
    if (address === null) return { address: peer, unreadable: entry }
  }
  return { address, unreadable: null }
}

/** Whether what this address said about its own peer counts. */
function isTrusted(trust: NonNullable<Checked['trust']>, hops: number, address: IpAddress | null): boolean {
  if ('hops' in trust) return hops < trust.hops
  return address !== null && trust.networks.some((network) => contains(network, address))
}

function keyOf(address: IpAddress, ipv6Prefix: number): string {
  if (isIpv4(address) || ipv6Prefix === 128) return formatIp(address)
  return `${formatIp(firstBits(address, ipv6Prefix))}/${ipv6Prefix}`
}

/** Each warning once: a client must not fill the log. */
function warnings() {
  let saidUndeclared = false
  let saidUnreadable = false
  return {
    undeclared(): void {
      if (saidUndeclared) return
      saidUndeclared = true
      process.emitWarning(
        'A request came through a proxy (it has X-Forwarded-For or Forwarded), but no proxy was declared: ' +
          'all who come through it are limited as one client.',
        {
          type: 'HoldfastWarning',
          code: 'HOLDFAST_UNDECLARED_PROXY',
          detail:
            "Give key: clientAddress({ trustedHops: 1 }) or clientAddress({ trustedProxies: ['10.0.0.0/8'] }); " +
            'clientAddress({ trustedHops: 0 }) says that there is no proxy.',
        },
      )
    },
    unreadable(header: string, entry: string): void {
      if (saidUnreadable) return
      saidUnreadable = true
      process.emitWarning(
        `The header ${header} has ${show(entry)} where the client's address should be; the socket's address counts instead.`,
        {
          type: 'HoldfastWarning',
          code: 'HOLDFAST_FORWARDED_UNREADABLE',
          detail:
            'Look at what the proxy writes, and at trustedHops. Later requests of this kind are not told.',
        },
      )
    },
  }
}

function checkClientAddressOptions(options: ClientAddressOptions): Checked {
  checkOptions(options, OPTIONS, 'clientAddress')
  const { header = 'x-forwarded-for', ipv6Prefix = DEFAULT_IPV6_PREFIX } = options
  if (header !== 'x-forwarded-for' && header !== 'forwarded') {
    throw new InvalidArgumentError('header', header, {
      problem: 'is not a header that is understood',
      remedy: "Give 'x-forwarded-for' or 'forwarded'.",
    })
  }
  if (!Number.isInteger(ipv6Prefix) || ipv6Prefix < 1 || ipv6Prefix > 128) {
    throw new InvalidArgumentError('ipv6Prefix', ipv6Prefix, {
      problem: 'is not a number of bits',
      remedy: 'Give a whole number from 1 to 128; 128 tells every address apart.',
    })
  }
  return { trust: checkTrust(options), header, ipv6Prefix }
}

function checkTrust({ trustedHops, trustedProxies }: ClientAddressOptions): Checked['trust'] {
  if (trustedHops !== undefined && trustedProxies !== undefined) {
    throw new InvalidArgumentError('trustedHops', trustedHops, {
      problem: 'is set together with trustedProxies',
      remedy: 'Give one of them: how many proxies there are, or which addresses they have.',
    })
  }
  if (trustedProxies !== undefined) {
    if (!Array.isArray(trustedProxies)) {
      throw new InvalidArgumentError('trustedProxies', trustedProxies, {
        problem: 'is not a list',
        remedy: "Give addresses or CIDR ranges, as ['10.0.0.0/8', 'fd00::/8'].",
      })
    }
    return { networks: trustedProxies.map((text, n) => parseNetwork(text, `trustedProxies[${n}]`)) }
  }
  if (trustedHops === undefined) return null
  if (Number.isInteger(trustedHops) && trustedHops >= 0 && trustedHops <= MOST_HOPS)
    return { hops: trustedHops }
  throw new InvalidArgumentError('trustedHops', trustedHops, {
    problem: 'is not a number of proxies',
    remedy: `Give a whole number from 0 to ${MOST_HOPS}.`,
  })
}

import { InvalidArgumentError } from '../errors.ts'
import { firstBits, isIpv4, parseIp, type IpAddress } from './ip-address.ts'

/** A range of addresses (CIDR, RFC 4632): those that share their first `bits` bits. */
export interface Network {
  readonly address: IpAddress
  readonly bits: number
}

/** Bits that come before those of an IPv4 address in its mapped form. */
const MAPPED_BITS = 96

/**
 * Reads `10.0.0.0/8`, `fd00::/8`, or a single address. Bits beyond the length are ignored.
 *
 * @throws InvalidArgumentError that names option, value and remedy
 */
export function parseNetwork(text: unknown, option: string): Network {
  const [, base = '', length] = typeof text === 'string' ? (/^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []) : []
  const address = parseIp(base)
  // A dotted address counts its bits from its own beginning, a mapped one in IPv6 spelling from that of IPv6.
  const before = base.includes(':') ? 0 : MAPPED_BITS
  const bits = length === undefined ? 128 : Number(length) + before
  if (address === null || bits > 128 || base.includes('%')) {
    throw new InvalidArgumentError(option, text, {
      problem: 'is neither an address nor a range of addresses',
      remedy: "Give addresses or CIDR ranges, as ['10.0.0.0/8', 'fd00::/8'].",
    })
  }
  return { address: firstBits(address, bits), bits }
}

/** Whether the address lies in the range. `::/0` holds IPv6 only, so that it does not silently mean everybody. */
export function contains(network: Network, address: IpAddress): boolean {
  if (network.bits < MAPPED_BITS && isIpv4(address)) return false
  const own = firstBits(address, network.bits)
  return own.every((group, n) => group === network.address[n])
}

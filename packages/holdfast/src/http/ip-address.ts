/**
 * An address of the internet, as the eight 16-bit groups of IPv6. An IPv4 address is its mapped form `::ffff:a.b.c.d`
 * (RFC 4291, 2.5.5.2), so that both spellings are the same bits.
 */
export type IpAddress = readonly number[]

const GROUPS = 8
/** Longer text is no address: 45 characters of IPv6, a zone, brackets and a port. */
const LONGEST_TEXT = 128
/** A zone names an interface of one machine (RFC 4007); it is cut off. */
const ZONE = /^([^%]+)%[^%\s]+$/
/** The port of RFC 7239 may be a name as well. */
const PORT = /^:(\d{1,5}|_[\w.-]+)$/

/** Reads an IPv4 or IPv6 address, IPv6 with or without its zone. Never throws. @returns `null` when it is none */
export function parseIp(text: string): IpAddress | null {
  if (text.length > LONGEST_TEXT) return null
  if (!text.includes(':')) return mappedIpv4(text)
  return parseIpv6(ZONE.exec(text)?.[1] ?? text)
}

/**
 * Reads an address as proxies write it: also with a port, IPv6 then in brackets (`1.2.3.4:5678`, `[::1]:80`). Never throws.
 *
 * @returns `null` when it is none: `unknown`, a name, nonsense
 */
export function parseNode(text: string): IpAddress | null {
  const node = text.trim()
  if (node.length > LONGEST_TEXT) return null
  if (node.startsWith('[')) {
    const end = node.indexOf(']')
    const after = node.slice(end + 1)
    const inside = node.slice(1, Math.max(1, end))
    return inside.includes(':') && (after === '' || PORT.test(after)) ? parseIp(inside) : null
  }
  const colon = node.indexOf(':')
  if (colon === -1 || colon !== node.lastIndexOf(':')) return parseIp(node)
  return PORT.test(node.slice(colon)) ? mappedIpv4(node.slice(0, colon)) : null
}

function parseIpv6(text: string): IpAddress | null {
  const halves = text.split('::')
  if (halves.length > 2) return null
  const head = readGroups(halves[0] ?? '', halves.length === 1)
  const tail = halves.length === 2 ? readGroups(halves[1] ?? '', true) : []
  if (head === null || tail === null) return null
  const missing = GROUPS - head.length - tail.length
  // `::` stands for at least one group.
  if (halves.length === 2 ? missing < 1 : missing !== 0) return null
  return [...head, ...Array<number>(missing).fill(0), ...tail]
}

/** @param last whether the address ends here, where it may end in dotted IPv4 */
function readGroups(text: string, last: boolean): number[] | null {
  if (text === '') return []
  const groups: number[] = []
  const parts = text.split(':')
  for (const [n, part] of parts.entries()) {
    if (last && n === parts.length - 1 && part.includes('.')) {
      const words = readIpv4(part)
      if (words === null) return null
      groups.push(...words)
    } else if (/^[\da-f]{1,4}$/i.test(part)) {
      groups.push(Number.parseInt(part, 16))
    } else return null
  }
  return groups
}

function mappedIpv4(text: string): IpAddress | null {
  const words = readIpv4(text)
  return words === null ? null : [0, 0, 0, 0, 0, 0xffff, ...words]
}

/** The two words of a dotted address. Leading zeros are refused: some read them as octal. */
function readIpv4(text: string): [number, number] | null {
  const bytes = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text)?.slice(1)
  if (bytes === undefined || bytes.some((byte) => Number(byte) > 255 || /^0\d/.test(byte))) return null
  const [a = 0, b = 0, c = 0, d = 0] = bytes.map(Number)
  return [a * 256 + b, c * 256 + d]
}

/** Whether the bits are those of an IPv4 address. */
export function isIpv4(address: IpAddress): boolean {
  return address[5] === 0xffff && address.slice(0, 5).every((group) => group === 0)
}

/** The address with all bits after the first `bits` cleared. */
export function firstBits(address: IpAddress, bits: number): IpAddress {
  return address.map((group, n) => {
    const kept = Math.min(16, Math.max(0, bits - n * 16))
    return group & (0xffff << (16 - kept)) & 0xffff
  })
}

/** Writes an address: IPv4 dotted, IPv6 in the one form of RFC 5952. */
export function formatIp(address: IpAddress): string {
  if (isIpv4(address)) {
    const [high = 0, low = 0] = address.slice(6)
    return [high >> 8, high & 255, low >> 8, low & 255].join('.')
  }
  const { start, length } = longestZeros(address)
  const hex = address.map((group) => group.toString(16))
  if (length < 2) return hex.join(':')
  return `${hex.slice(0, start).join(':')}::${hex.slice(start + length).join(':')}`
}

/** The first of the longest runs of zero groups. */
function longestZeros(address: IpAddress): { start: number; length: number } {
  let longest = { start: 0, length: 0 }
  let start = 0
  for (let n = 0; n <= address.length; n += 1) {
    if (n < address.length && address[n] === 0) continue
    if (n - start > longest.length) longest = { start, length: n - start }
    start = n + 1
  }
  return longest
}

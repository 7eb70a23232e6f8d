/** How many slots a cluster has. */
export const SLOTS = 16_384

/** CRC-16 of the XMODEM kind (polynomial 0x1021), a byte at a time; see "Redis cluster specification". */
const TABLE = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8
  for (let bit = 0; bit < 8; bit += 1) crc = (crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ 0x1021
  return crc
})

/** The slot of a key: of what stands between its first `{` and the next `}` if that is not empty, else of all of it. */
export function slotOf(key: string): number {
  const open = key.indexOf('{')
  const close = open === -1 ? -1 : key.indexOf('}', open + 1)
  const hashed = close > open + 1 ? key.slice(open + 1, close) : key
  let crc = 0
  for (const byte of Buffer.from(hashed, 'utf8')) {
    crc = ((crc << 8) & 0xffff) ^ (TABLE[((crc >> 8) ^ byte) & 0xff] ?? 0)
  }
  return crc % SLOTS
}

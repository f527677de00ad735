/** The remainders of each byte, for the polynomial of zip and Ethernet. */
const REMAINDERS = /* @__PURE__ */ Uint32Array.from({ length: 256 }, (_, byte) => {
  let remainder = byte
  for (let bit = 0; bit < 8; bit += 1) {
    remainder = (remainder >>> 1) ^ (remainder & 1 ? 0xedb88320 : 0)
  }
  return remainder
})

/** Returns the CRC-32 of bytes that follow others, of which `before` is the CRC-32. */
export function crc32(bytes: Iterable<number>, before = 0): number {
  let crc = ~before
  for (const byte of bytes) crc = (crc >>> 8) ^ (REMAINDERS[(crc ^ byte) & 255] as number)
  return ~crc >>> 0
}

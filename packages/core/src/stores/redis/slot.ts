/** The number of slots of a Redis Cluster. */
const SLOTS = 16_384

/**
 * Returns the slot of a key: the CRC16 (XMODEM) of what stands between its first `{` and the next `}`, or of the key.
 * See https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#hash-tags
 */
export function slotOf(key: string): number {
  const tag = /^[^{]*\{([^}]+)\}/.exec(key)?.[1] ?? key
  let crc = 0
  for (const byte of new TextEncoder().encode(tag)) {
    crc ^= byte << 8
    for (let bit = 0; bit < 8; bit += 1)
      crc = (crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1) & 0xffff
  }
  return crc % SLOTS
}

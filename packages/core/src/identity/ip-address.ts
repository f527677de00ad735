/** The longest textual address: an IPv4-mapped one in full, with brackets and a port. */
const MAX_LENGTH = 64

/**
 * Returns the canonical spelling of a network address: IPv4 unchanged, IPv6 as its first `ipv6Prefix`
 * bits (`2001:db8:0:1200::/56`), an IPv4 address mapped into IPv6 as IPv4. Removes a port and the brackets
 * around IPv6. Returns `undefined` if `text` is not an address.
 */
export function canonicalAddress(text: string, ipv6Prefix: number): string | undefined {
  if (text.length > MAX_LENGTH) return undefined
  const bare =
    /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text)?.[1] ?? text.replace(/^([\d.]+):\d{1,5}$/, '$1')
  if (isIpv4(bare)) return bare
  const groups = ipv6Groups(bare)
  if (groups === undefined) return undefined
  const [g0, g1, g2, g3, g4, g5, g6 = 0, g7 = 0] = groups
  // ::ffff:a.b.c.d (RFC 4291, section 2.5.5.2) and the NAT64 prefix 64:ff9b::/96 (RFC 6052) by their bits.
  const mapped = [g0, g1, g2, g3, g4].every((group) => group === 0) && g5 === 0xffff
  const translated = g0 === 0x64 && g1 === 0xff9b && [g2, g3, g4, g5].every((group) => group === 0)
  if (mapped || translated) return [g6 >> 8, g6 & 255, g7 >> 8, g7 & 255].join('.')
  return `${network(groups, ipv6Prefix)}::/${ipv6Prefix}`
}

/** Writes the groups of the prefix, with the bits outside it set to 0. */
function network(groups: readonly number[], prefix: number): string {
  return groups
    .slice(0, Math.ceil(prefix / 16))
    .map((group, index) => {
      const hostBits = Math.max(0, 16 * (index + 1) - prefix)
      return ((group >> hostBits) << hostBits).toString(16)
    })
    .join(':')
}

function isIpv4(text: string): boolean {
  const parts = text.split('.')
  // A leading zero is octal to some parsers and decimal to others, so it is invalid here.
  return (
    parts.length === 4 &&
    parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256)
  )
}

/** Parses the eight groups of an IPv6 address (RFC 4291, section 2.2) without its zone. */
function ipv6Groups(text: string): number[] | undefined {
  const [address = ''] = text.split('%')
  const halves = address.split('::')
  if (halves.length > 2) return undefined
  // Only the last group may be written as IPv4.
  const [left, right] = halves.map((half, index) => groupsOf(half, index === halves.length - 1))
  if (left === undefined) return undefined
  if (halves.length === 1) return left.length === 8 ? left : undefined
  if (right === undefined || left.length + right.length > 7) return undefined
  return [...left, ...Array.from({ length: 8 - left.length - right.length }, () => 0), ...right]
}

function groupsOf(text: string, last: boolean): number[] | undefined {
  if (text === '') return []
  const groups: number[] = []
  const parts = text.split(':')
  for (const [index, part] of parts.entries()) {
    if (last && index === parts.length - 1 && isIpv4(part)) {
      const [a = 0, b = 0, c = 0, d = 0] = part.split('.').map(Number)
      groups.push(a * 256 + b, c * 256 + d)
    } else if (/^[0-9a-f]{1,4}$/i.test(part)) {
      groups.push(Number.parseInt(part, 16))
    } else {
      return undefined
    }
  }
  return groups
}

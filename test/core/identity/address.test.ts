import { addressSubject } from '@sluice/core/identity'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { spellings } from './address-spellings.ts'

/** The dimension `address` that a header value becomes. */
function addressOf(text: string, ipv6Prefix?: number): string | undefined {
  const headers = { 'cf-connecting-ip': text, 'cf-ray': '8f00000000000000-VIE' }
  const options = ipv6Prefix === undefined ? {} : { ipv6Prefix }
  const resolve = addressSubject({ from: 'cloudflare', ...options })
  const found = resolve(new Request('https://app.example/', { headers }))
  return (found as { address: string } | null)?.address
}

describe('the spelling of an address', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['192.0.2.7:443', '192.0.2.7'],
    [' 192.0.2.7 ', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['::FFFF:c000:0207', '192.0.2.7'],
    ['0:0:0:0:0:ffff:c000:207', '192.0.2.7'],
    ['[::ffff:192.0.2.7]:443', '192.0.2.7'],
    ['64:ff9b::192.0.2.7', '192.0.2.7'],
    ['64:ff9b::c000:207', '192.0.2.7'],
    ['2001:db8:0:7:1:2:3:4', '2001:db8:0:0::/56'],
    ['2001:DB8:0:7::', '2001:db8:0:0::/56'],
    ['2001:0db8:0000:0007:ffff:ffff:ffff:ffff', '2001:db8:0:0::/56'],
    ['[2001:db8:0:7::1]:443', '2001:db8:0:0::/56'],
    ['[2001:db8:0:7::1]', '2001:db8:0:0::/56'],
    ['2001:db8:0:7::1.2.3.4', '2001:db8:0:0::/56'],
    ['fe80::1%eth0', 'fe80:0:0:0::/56'],
    ['::', '0:0:0:0::/56'],
    ['::1', '0:0:0:0::/56'],
    // Close to a mapped address or the NAT64 prefix, and neither.
    ['::ffff:0:192.0.2.7', '0:0:0:0::/56'],
    ['64:ff9b:1::192.0.2.7', '64:ff9b:1:0::/56'],
  ])('%s is %s', (text, address) => {
    expect(addressOf(text)).toBe(address)
  })

  it.each([
    '',
    'unknown',
    '_hidden',
    '192.0.2',
    '192.0.2.256',
    '192.0.2.07',
    '0xc0.0.2.7',
    '3221225991',
    '192.0.2.7.',
    '192.0.2.7, 198.51.100.1',
    '192.0.2.7%eth0',
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:8:9',
    '1:2:3:4:5:6:7:8::',
    '1::2::3',
    ':::',
    ':1:2:3:4:5:6:7',
    '12345::',
    'g::',
    '::1.2.3',
    '1.2.3.4::',
    '1.2.3.4:5:6:7:8:9:a',
    '[::1',
    '::1]',
    '[::1]x',
    `${'0'.repeat(70)}::1`,
    '1'.repeat(1_000_000),
  ])('%.40s is not an address, and has no subject', (text) => {
    expect(addressOf(text)).toBeUndefined()
  })

  it.each([
    [64, '2001:db8:cafe:1234::/64'],
    [63, '2001:db8:cafe:1234::/63'],
    [62, '2001:db8:cafe:1234::/62'],
    [61, '2001:db8:cafe:1230::/61'],
    [60, '2001:db8:cafe:1230::/60'],
    [56, '2001:db8:cafe:1200::/56'],
    [49, '2001:db8:cafe:0::/49'],
    [48, '2001:db8:cafe::/48'],
    [47, '2001:db8:cafe::/47'],
    [40, '2001:db8:ca00::/40'],
    [33, '2001:db8:8000::/33'],
    [32, '2001:db8::/32'],
  ])('uses the first %i bits of IPv6 if configured, and all of IPv4', (prefix, address) => {
    expect(addressOf('2001:db8:cafe:1234:5678::1', prefix)).toBe(address)
    expect(addressOf('192.0.2.7', prefix)).toBe('192.0.2.7')
    expect(addressOf('::ffff:192.0.2.7', prefix)).toBe('192.0.2.7')
  })

  it('gives one customer of a /56 one budget', () => {
    const addresses = Array.from({ length: 256 }, (_, net) => `2001:db8:0:12${hex2(net)}::1`)
    expect(new Set(addresses.map((text) => addressOf(text)))).toEqual(
      new Set(['2001:db8:0:1200::/56']),
    )
    expect(addressOf('2001:db8:0:1300::1')).toBe('2001:db8:0:1300::/56')
  })

  it('gives one key for equal bits, and different keys for different ones', () => {
    const groups = fc.array(
      fc.oneof(fc.constantFrom(0, 0xffff, 1), fc.integer({ min: 0, max: 0xffff })),
      { minLength: 8, maxLength: 8 },
    )
    const prefixes = fc.integer({ min: 32, max: 64 })
    const bits = fc.integer({ min: 24, max: 72 })
    fc.assert(
      fc.property(groups, groups, bits, prefixes, (a, b, sharedBits, prefix) => {
        // Pairs that share a prefix are the ones worth comparing.
        const all = [a, b, joined(a, b, sharedBits)]
        const keys = all.map((address) => spellings(address).map((text) => addressOf(text, prefix)))
        for (const same of keys) expect(new Set(same).size).toBe(1)
        for (const [index, one] of all.entries())
          for (const [other, two] of all.entries())
            expect(keys[index]?.[0] === keys[other]?.[0]).toBe(
              partition(one, prefix) === partition(two, prefix),
            )
      }),
      { seed: 64, numRuns: 500 },
    )
  })

  it('is the same for an IPv4 address and the IPv6 address it is mapped to', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 255 }), { minLength: 4, maxLength: 4 }),
        (ip) => {
          const [a = 0, b = 0, c = 0, d = 0] = ip
          const text = ip.join('.')
          const mapped = spellings([0, 0, 0, 0, 0, 0xffff, a * 256 + b, c * 256 + d])
          const nat64 = spellings([0x64, 0xff9b, 0, 0, 0, 0, a * 256 + b, c * 256 + d])
          expect(
            new Set([text, `${text}:8080`, ...mapped, ...nat64].map((one) => addressOf(one))),
          ).toEqual(new Set([text]))
        },
      ),
      { seed: 4, numRuns: 300 },
    )
  })
})

const hex2 = (byte: number): string => byte.toString(16).padStart(2, '0')

const bitsOf = (groups: readonly number[]): string =>
  groups.map((group) => group.toString(2).padStart(16, '0')).join('')

/** The first bits of `a`, and the others of `b`. */
function joined(a: readonly number[], b: readonly number[], bits: number): number[] {
  const text = bitsOf(a).slice(0, bits) + bitsOf(b).slice(bits)
  return Array.from(a, (_, index) => Number.parseInt(text.slice(16 * index, 16 * index + 16), 2))
}

/** The bits that count: all of an IPv4 address, those of the prefix of an IPv6 address. */
function partition(groups: readonly number[], prefix: number): string {
  const [head, tail] = [groups.slice(0, 6).join(), groups.slice(6).join()]
  const isIpv4 = head === '0,0,0,0,0,65535' || head === '100,65435,0,0,0,0'
  return isIpv4 ? tail : bitsOf(groups).slice(0, prefix)
}

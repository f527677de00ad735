/*
 * `node test/core/calendars/oracle/read-tzdata.ts`: writes tzdata.json anew, from the packages of npm below. A new version of
 * tz gets a row in `SOURCES`.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ZONES } from './zones.ts'

/**
 * The version of moment-timezone that has a version of tz. No package has the changes of 2025c as a table: its rules, in
 * tzdata 1.0.47, are those of 2025b except for America/Tijuana before 1977.
 */
const SOURCES: Readonly<Record<string, string>> = {
  '2025b': '0.6.0',
  '2025c': '0.6.0',
  '2026a': '0.6.1',
  '2026b': '0.6.2',
  '2026c': '0.6.3',
  '2026d': '0.6.4',
  '2026e': '0.6.5',
  '2026f': '0.6.6',
}

const [FIRST, LAST] = [Date.UTC(2004, 0) / 60_000, Date.UTC(2030, 0) / 60_000]

const DIGITS = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWX'

/** Reads a number to the base of 60, with a part after the point. */
function base60(text: string): number {
  const [whole = '', part = ''] = text.replace('-', '').split('.')
  let value = 0
  for (const digit of whole) value = 60 * value + DIGITS.indexOf(digit)
  for (const [place, digit] of Array.from(part).entries())
    value += DIGITS.indexOf(digit) / 60 ** (place + 1)
  return text.startsWith('-') ? -value : value
}

/** Returns the offset of a zone in 2004 and each later change, in minutes: `60 18012540:120 …`. */
function changesOf(packed: string): string {
  const [, , offsets = '', indices = '', untils = ''] = packed.split('|')
  const values = offsets.split(' ').map((offset) => -base60(offset))
  const spans = Array.from(indices, (index) => values[DIGITS.indexOf(index)] ?? NaN)
  let [until, first] = [0, spans[0]]
  const changes: string[] = []
  for (const [index, step] of untils.split(' ').filter(Boolean).entries()) {
    until += base60(step)
    const minute = Math.round(60 * until) / 60
    const offset = spans[index + 1]
    if (minute < FIRST) first = offset
    // Some changes are of a name alone.
    else if (minute < LAST && offset !== spans[index]) changes.push(`${minute}:${offset}`)
  }
  return [first, ...changes].join(' ')
}

interface Packed {
  version: string
  zones: string[]
  links: string[]
}

function readPackage(version: string): Packed {
  const folder = mkdtempSync(join(tmpdir(), 'tz-'))
  try {
    execFileSync('npm', ['pack', '--silent', `moment-timezone@${version}`], { cwd: folder })
    execFileSync('tar', ['xzf', `moment-timezone-${version}.tgz`], { cwd: folder })
    const file = join(folder, 'package/data/packed/latest.json')
    return JSON.parse(readFileSync(file, 'utf8')) as Packed
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const zones: Record<string, Record<string, string>> = {}
const latest = new Map<string, string>()
for (const [tz, version] of Object.entries(SOURCES)) {
  const data = readPackage(version)
  const packed = new Map(data.zones.map((line) => [line.split('|', 1)[0], line]))
  const links = new Map(data.links.map((line) => line.split('|').toReversed() as [string, string]))
  for (const zone of ZONES) {
    const changes = changesOf(packed.get(links.get(zone) ?? zone) ?? '')
    if (changes === latest.get(zone)) continue
    latest.set(zone, changes)
    ;(zones[zone] ??= {})[tz] = changes
  }
}
const versions = Object.fromEntries(
  Object.entries(SOURCES).map(([tz, version]) => [tz, `moment-timezone ${version}`]),
)
const read = new Date().toISOString().slice(0, 10)
const text = `${JSON.stringify({ read, versions, zones }, null, 2)}\n`
writeFileSync(new URL('tzdata.json', import.meta.url), text)

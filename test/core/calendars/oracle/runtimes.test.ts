import { execFile } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { Miniflare } from 'miniflare'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Comparison, Sample } from './compare.ts'
import type { Clocks } from './runtime.ts'
import { ZONES } from './zones.ts'

// `CALENDAR_SAMPLE=all` compares each boundary, which takes half an hour.
const sample: Sample = process.env['CALENDAR_SAMPLE'] === 'all' ? 'all' : 'changes'

const folder = await mkdtemp(join(tmpdir(), 'calendars-'))
const program = join(folder, 'program.mjs')
let miniflare: Miniflare

beforeAll(async () => {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL('program.ts', import.meta.url))],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'neutral',
  })
  const contents = outputFiles[0]?.text ?? ''
  await writeFile(program, contents)
  miniflare = new Miniflare({
    host: '127.0.0.1',
    port: 0,
    workers: [
      {
        config: {
          name: 'calendars',
          compatibilityDate: '2026-01-01',
          manifest: { mainModule: 'index.js', modules: { 'index.js': { type: 'esm', contents } } },
        },
      },
    ],
  })
  await miniflare.ready
})
afterAll(async () => {
  await miniflare.dispose()
  await rm(folder, { recursive: true })
})

/** Asks the program in a runtime. */
type Ask = (query: string) => Promise<unknown>

/** Each Node.js on the `PATH` beside the one that runs the tests, which `npm test` compares; and workerd. */
const RUNTIMES: [string, Ask][] = [
  ...nodes().map((node): [string, Ask] => [
    node,
    async (query) => {
      const { stdout } = await promisify(execFile)(node, [program, query])
      return JSON.parse(stdout)
    },
  ]),
  ['workerd', async (query) => (await fetch(new URL(`?${query}`, await miniflare.ready))).json()],
]

function nodes(): string[] {
  const own = realpathSync(process.execPath)
  const found = (process.env['PATH'] ?? '')
    .split(delimiter)
    .filter((path) => !path.includes('node_modules'))
    .map((path) => join(path, 'node'))
    .filter((path) => existsSync(path))
    .map((path) => realpathSync(path))
  const others = found.filter((path) => path !== own)
  return [...new Set(sample === 'all' ? [own, ...others] : others)]
}

it.concurrent.each(RUNTIMES)(
  'periods in %s are those of the tables of tz',
  async (name, ask) => {
    const { tz, version, apart } = (await ask('')) as Clocks
    const compared = async (zones: readonly string[]): Promise<Comparison> => {
      const query = new URLSearchParams({ version, sample })
      for (const zone of zones) query.append('zone', zone)
      return (await ask(`${query}`)) as Comparison
    }
    const total = { boundaries: 0, instants: 0, deviations: 0 }
    const others = ZONES.filter((zone) => !apart.includes(zone))
    // A request to a Worker has to answer within five minutes.
    for (const zones of sample === 'all' ? others.map((zone) => [zone]) : [others]) {
      const { examples, ...counts } = await compared(zones)
      expect(examples).toEqual([])
      for (const key of ['boundaries', 'instants', 'deviations'] as const) total[key] += counts[key]
    }
    const differing: Record<string, number> = {}
    for (const zone of apart) differing[zone] = (await compared([zone])).deviations
    const tables = { tz: tz ?? 'not named', tables: version }
    console.log(name, JSON.stringify({ ...tables, ...total, apart: differing }))
    expect(total.deviations).toBe(0)
    expect(total.boundaries).toBeGreaterThan(12_000)
    expect(apart.length).toBeLessThan(5)
  },
  7_200_000,
)

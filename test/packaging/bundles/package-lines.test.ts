import { globSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { bundle } from '../../support/bundle.ts'

const root = new URL('../../..', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8')

/** The names of each package that most apps import, by entry. */
const USED: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  adapters: { '@sluice/adapters/hono': ['rateLimit'] },
  ai: { '@sluice/ai': ['modelHandler'] },
  cli: { '@sluice/cli': ['runCommand'] },
  cloudflare: { '@sluice/cloudflare': ['rateLimit'] },
  core: {
    '@sluice/core': ['createLimiter', 'slidingWindow'],
    '@sluice/core/upstash': ['upstash'],
  },
  dashboard: { '@sluice/dashboard': ['createDashboard', 'dashboardHandler'] },
  local: { '@sluice/local': ['startLocal'] },
  next: { '@sluice/next': ['rateLimit'] },
  otel: { '@sluice/otel': ['telemetry'] },
  queue: { '@sluice/queue': ['limitedQueue', 'work'] },
  replay: { '@sluice/replay': ['openLog', 'policySet', 'replay'] },
  usage: { '@sluice/usage': ['recordUsage'] },
}

/** Dependencies of packages below, which are theirs and are told on their pages. */
const ALWAYS_EXTERNAL = ['uplot', 'ioredis', 'wasmoon-lua5.1', 'csv-parse', 'csv-parse/*', 'jose']

interface Manifest {
  readonly name: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional: boolean }>>
}

const names = (list: readonly string[]): string =>
  list.length === 0 ? 'none' : list.map((name) => `\`${name}\``).join(', ')

/** The line of a README, but for the kilobytes. */
function lineOf(folder: string, { dependencies = {}, ...manifest }: Manifest): string {
  const peers = Object.keys(manifest.peerDependencies ?? {})
  const isOptional = (peer: string): boolean => peer in (manifest.peerDependenciesMeta ?? {})
  const used = names(Object.values(USED[folder] ?? {}).flat())
  const parts = [
    `**Size:** about N kB gzipped for ${used}, with all of Sluice that it loads.`,
    `**Dependencies:** ${names(Object.keys(dependencies))}.`,
    `**Peers:** ${names(peers.filter((peer) => !isOptional(peer)))}`,
  ]
  const optional = peers.filter(isOptional)
  return `${parts.join(' ')}${optional.length > 0 ? `; if you use them, ${names(optional)}` : ''}.`
}

it.each(globSync('packages/*/package.json', { cwd: root }))(
  '%s has its size and the packages that it needs in its README',
  async (path) => {
    const [, folder = ''] = path.split('/')
    const manifest = JSON.parse(read(path)) as Manifest
    const [line = ''] = /^\*\*Size:\*\*.*$/m.exec(read(`packages/${folder}/README.md`)) ?? []
    const [, kb] = /([\d.]+) kB/.exec(line) ?? []
    expect(line.replace(`${kb} kB`, 'N kB')).toBe(lineOf(folder, manifest))
    const imports = Object.entries(USED[folder] ?? {}).map(
      ([entry, exported]) => `export { ${exported.join(', ')} } from '${entry}'`,
    )
    const external = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies })
      .flatMap((name) => (name.startsWith('@sluice/') ? [] : [name, `${name}/*`]))
      .concat('node:*', 'cloudflare:*', ...ALWAYS_EXTERNAL)
    const { gzipped } = await bundle(imports.join('\n'), external)
    const ratio = gzipped / 1_000 / Number(kb)
    expect(Math.abs(ratio - 1), `${kb} kB, measured ${gzipped}`).toBeLessThan(0.1)
  },
)

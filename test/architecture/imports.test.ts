import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Who may import whom in the core, from the bottom up. `stores/*` and the like stand for folders. */
const CORE: Readonly<Record<string, readonly string[]>> = {
  errors: [],
  clock: [],
  validate: ['errors'],
  duration: ['errors'],
  subject: ['errors'],
  'plans/plans': ['errors', 'hooks', 'validate'],
  decision: ['errors'],
  limit: ['errors', 'validate', 'plans/plans'],
  rollout: ['errors', 'validate'],
  backpressure: ['errors', 'validate'],
  algorithm: [],
  policy: [
    'algorithm',
    'backpressure',
    'errors',
    'limit',
    'rollout',
    'validate',
    'subject',
    'decision',
  ],
  cost: ['errors', 'validate', 'policy'],
  'policies/*': ['algorithm', 'duration', 'errors', 'limit', 'policies/*', 'policy', 'validate'],
  store: ['algorithm', 'decision'],
  entries: ['algorithm', 'backpressure', 'decision', 'limit', 'policy', 'rollout', 'subject'],
  'random-id': [],
  hooks: ['clock', 'decision', 'errors', 'subject', 'validate'],
  watch: ['clock', 'hooks', 'store'],
  reservation: [
    'algorithm',
    'clock',
    'cost',
    'decision',
    'entries',
    'errors',
    'policy',
    'store',
    'stores/fallback',
  ],
  'plans/plan-records': ['store', 'watch'],
  'plans/plan-search': ['clock', 'decision', 'plans/plan-records', 'random-id', 'subject', 'watch'],
  'plans/plan-resolver': [
    'duration',
    'plans/plan-records',
    'plans/plan-search',
    'plans/plans',
    'subject',
    'validate',
    'watch',
  ],
  'stores/memory': ['store', 'validate'],
  'stores/fallback': ['store', 'errors', 'stores/memory'],
  'stores/upstash/*': ['stores/upstash/*', 'store', 'algorithm', 'errors', 'random-id', 'validate'],
  deciding: [
    'algorithm',
    'clock',
    'configuration/configuration',
    'cost',
    'decision',
    'entries',
    'hooks',
    'plans/plan-search',
    'plans/plans',
    'policy',
    'random-id',
    'reservation',
    'stores/fallback',
    'subject',
    'watch',
    'store',
  ],
  'configuration/settings': ['entries', 'errors', 'limit', 'policy', 'rollout', 'validate'],
  'configuration/configuration-document': [
    'entries',
    'errors',
    'configuration/settings',
    'subject',
    'validate',
  ],
  'configuration/configuration-changes': [
    'configuration/configuration-document',
    'errors',
    'configuration/settings',
    'subject',
    'validate',
  ],
  'configuration/configuration-record': ['errors', 'random-id', 'store', 'watch'],
  'configuration/configuration': [
    'configuration/configuration-changes',
    'configuration/configuration-document',
    'configuration/configuration-record',
    'entries',
    'errors',
    'policy',
    'configuration/settings',
    'subject',
    'validate',
    'watch',
  ],
  'limiter-options': [
    'clock',
    'configuration/configuration',
    'deciding',
    'errors',
    'hooks',
    'limit',
    'plans/plan-resolver',
    'plans/plan-search',
    'plans/plans',
    'policy',
    'store',
    'stores/fallback',
    'validate',
    'watch',
  ],
  limiter: [
    'configuration/configuration-changes',
    'configuration/configuration-document',
    'cost',
    'deciding',
    'decision',
    'duration',
    'entries',
    'errors',
    'limiter-options',
    'policy',
    'reservation',
    'subject',
    'validate',
    'watch',
  ],
  'routes/*': ['cost', 'errors', 'routes/*', 'validate'],
  'http/guard': [
    'cost',
    'decision',
    'errors',
    'http/*',
    'limiter',
    'routes/*',
    'subject',
    'validate',
  ],
  'http/guard-options': ['decision', 'http/*', 'routes/*'],
  'http/fetch': ['http/*', 'routes/*', 'validate'],
  'http/guess-limit': ['decision', 'http/*', 'limiter', 'subject', 'validate'],
  'http/context': ['errors', 'limiter'],
  'http/subject-resolver': ['http/refusal', 'subject'],
  'http/handoff': ['errors', 'subject'],
  'http/*': ['decision', 'errors', 'http/*', 'validate'],
  'identity/jwks': ['jose'],
  'identity/jwt': ['errors', 'http/*', 'identity/*', 'subject', 'validate', 'jose'],
  'identity/*': ['errors', 'http/*', 'identity/*', 'subject', 'validate'],
  'manifest/*': [
    'errors',
    'limit',
    'manifest/*',
    'policies/*',
    'policy',
    'routes/*',
    'subject',
    'validate',
  ],
  'llm/*': ['cost', 'errors', 'limit', 'llm/*', 'policies/*', 'policy', 'validate'],
  index: ['*'],
  upstash: ['stores/upstash/*'],
  memory: ['stores/memory'],
  http: ['http/*', 'routes/*', 'validate'],
  manifest: ['manifest/*'],
  identity: ['identity/*'],
  jwt: ['identity/jwt'],
  llm: ['llm/*'],
}

/** What the other packages and the apps may import from outside themselves. */
const OUTSIDE: Readonly<Record<string, RegExp>> = {
  'packages/next/src': /^(@sluice\/core(\/http)?|next\/server\.js|node:(fs|path))$/,
  'packages/cloudflare/src': /^@sluice\/core(\/http)?$/,
  'packages/local/src': /^(node:|ioredis$|wasmoon-lua5\.1$)/,
  'apps/demo': /^(@sluice\/(core|next)(\/(upstash|http|llm|memory))?$|next|react|jose|node:)/,
  'apps/worker': /^(@sluice\/(core|cloudflare)(\/(upstash|http|memory))?$|jose)/,
}

describe('the import graph', () => {
  const src = join(root, 'packages/core/src')
  for (const file of sources(src)) {
    const room = relative(src, file).replace(/\.ts$/, '')
    it(`core's ${room} imports only what its room may`, () => {
      const allowed = CORE[room] ?? CORE[`${dirname(room)}/*`]
      expect(allowed, 'a new room: give it a place in the picture').toBeDefined()
      const imported = imports(file).map((name) =>
        name.startsWith('.') ? relative(src, join(dirname(file), name)).replace(/\.ts$/, '') : name,
      )
      const forbidden = imported.filter((name) => !(allowed ?? []).some((rule) => fits(name, rule)))
      expect(forbidden).toEqual([])
    })
  }

  for (const [folder, allowed] of Object.entries(OUTSIDE)) {
    it(`${folder} imports only published names and what is its own`, () => {
      const files = sources(join(root, folder))
      expect(files.length).toBeGreaterThan(0)
      for (const file of files) {
        for (const name of imports(file)) {
          const inside =
            name.startsWith('.') && within(join(root, folder), join(dirname(file), name))
          expect(inside || allowed.test(name), `${relative(root, file)} imports ${name}`).toBe(true)
        }
      }
    })
  }

  it('is read whole', () => {
    const seen = imports(join(src, 'limiter-options.ts'))
    expect(seen).toContain('./clock.ts')
    expect(seen).toContain('./stores/fallback.ts')
    expect(imports(join(src, 'stores/upstash/store.ts'))).toContain('./transport.ts')
  })

  it('has no cycle in the core', () => {
    const graph = new Map<string, string[]>()
    for (const file of sources(src)) {
      const targets = imports(file).filter((name) => name.startsWith('.'))
      graph.set(
        file,
        targets.map((name) => join(dirname(file), name)),
      )
    }
    // Each file once: the paths through the graph are far more than its files.
    const cleared = new Set<string>()
    const visit = (file: string, path: readonly string[]): void => {
      expect(path, 'a cycle').not.toContain(file)
      if (cleared.has(file)) return
      for (const next of graph.get(file) ?? []) visit(next, [...path, file])
      cleared.add(file)
    }
    for (const file of graph.keys()) visit(file, [])
  })
})

function fits(name: string, rule: string): boolean {
  return rule === '*' || name === rule || (rule.endsWith('/*') && `${dirname(name)}/*` === rule)
}

function within(folder: string, path: string): boolean {
  return !relative(folder, path).startsWith('..')
}

function sources(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (/^(node_modules|dist|\.next|\.turbo|\.wrangler)$/.test(entry.name)) return []
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return sources(path)
    return /(?<!\.d)\.tsx?$/.test(entry.name) ? [path] : []
  })
}

function imports(file: string): string[] {
  const text = readFileSync(file, 'utf8')
  // `import … from 'x'`, `export … from 'x'`, `import 'x'`, and `import('x')` as an expression or type.
  const statements = /^(?:import|export)\b(?:[^'";]*\bfrom)?\s*'([^']+)'|\bimport\(\s*'([^']+)'/gm
  return Array.from(text.matchAll(statements), (match) => match[1] ?? match[2] ?? '')
}

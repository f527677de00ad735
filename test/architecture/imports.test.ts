import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const core = join(root, 'packages/core/src')

/** The rooms of the core, each with the rooms that it may import from; `of` names files, else a folder. */
const ROOMS: Readonly<Record<string, { readonly of?: RegExp; readonly from: string }>> = {
  nouns: {
    of: /^(errors|clock|validate|duration|subject|cost|decision|random-id)$/,
    from: '',
  },
  // One room for all that can be imported from the outside.
  entries: {
    of: /^(index|upstash|upstash-redis|memory|http|manifest|llm|identity|jwt|reservations|configuration|plans|testing)$/,
    from: '*',
  },
  routes: { from: 'nouns' },
  algorithms: { from: 'nouns' },
  policies: { of: /^(policies\/.*|plans\/plans)$/, from: 'nouns algorithms' },
  port: { of: /^stores\/store$/, from: 'nouns algorithms policies' },
  fallback: { of: /^stores\/fallback$/, from: 'nouns port stores' },
  stores: { from: 'nouns algorithms policies port' },
  // It knows the port, and of stores only what stands in for one that fails.
  limiter: { from: 'nouns policies port fallback' },
  internal: { from: 'nouns limiter' },
  // Settling brings what corrects each algorithm's charges, and its script.
  reservations: { from: 'nouns algorithms policies port stores limiter internal' },
  plans: { from: 'nouns policies port limiter internal' },
  configuration: { from: 'nouns policies port limiter internal' },
  http: { from: 'nouns routes port limiter reservations internal' },
  identity: { from: 'nouns http jose' },
  manifest: { from: 'nouns routes policies' },
  llm: { from: 'nouns policies' },
  testing: { from: 'nouns algorithms policies port stores limiter reservations' },
}

/** What the packages and apps may import beside each other's published entries and files of their own. */
const OTHERS: Readonly<Record<string, RegExp>> = {
  'packages/core/src': /^jose$/,
  'packages/next/src':
    /^(next\/server\.js|next\/experimental\/testing\/server\.js|@babel\/parser|node:(async_hooks|fs|module|path))$/,
  'packages/cloudflare/src': /^$/,
  'packages/local/src': /^(node:|ioredis$|wasmoon-lua5\.1$)/,
  'apps/demo': /^(next|react|jose|node:)/,
  'apps/worker': /^jose/,
}

describe('the rooms of the core', () => {
  const files = sources(core)

  it.each(Object.keys(ROOMS))('%s import only from the rooms below', (room) => {
    const own = files.filter((file) => roomOf(file) === room)
    expect(own.length).toBeGreaterThan(0)
    const from = new Set([room, ...(ROOMS[room]?.from.split(' ') ?? [])])
    const forbidden = own.flatMap((file) =>
      imports(file)
        .map((name) => (name.startsWith('.') ? roomOf(join(dirname(file), name)) : name))
        .filter((name) => !from.has(name) && !from.has('*'))
        .map((name) => `${relative(core, file)} imports from ${name}`),
    )
    expect(forbidden).toEqual([])
  })

  it('are all that there is', () => {
    const strangers = files.filter((file) => !Object.hasOwn(ROOMS, roomOf(file)))
    expect(strangers, 'a new room: give it a place in the picture').toEqual([])
  })

  it('are read whole', () => {
    const seen = imports(join(core, 'limiter/options.ts'))
    expect(seen).toContain('../clock.ts')
    expect(seen).toContain('../stores/fallback.ts')
    expect(imports(join(core, 'stores/upstash/client.ts'))).toContain('./transport.ts')
  })

  it('have no cycle among their files', () => {
    // Each file once: the paths through the graph are far more than its files.
    const cleared = new Set<string>()
    const visit = (file: string, path: readonly string[]): void => {
      expect(path, 'a cycle').not.toContain(file)
      if (cleared.has(file)) return
      const targets = imports(file).filter((name) => name.startsWith('.'))
      for (const name of targets) visit(join(dirname(file), name), [...path, file])
      cleared.add(file)
    }
    for (const file of files) visit(file, [])
    expect(cleared.size).toBe(files.length)
  })
})

describe('packages and apps', () => {
  const published = new Set(
    readdirSync(join(root, 'packages')).flatMap((name) => {
      const path = join(root, 'packages', name, 'package.json')
      if (!existsSync(path)) return []
      const { exports = {} } = JSON.parse(readFileSync(path, 'utf8')) as { exports?: object }
      return Object.keys(exports).map((entry) => join('@sluice', name, entry))
    }),
  )

  it.each(Object.entries(OTHERS))('%s imports only published entries of others', (name, others) => {
    const folder = join(root, name)
    const files = sources(folder)
    expect(files.length).toBeGreaterThan(0)
    const forbidden = files.flatMap((file) =>
      imports(file)
        .filter((from) => {
          if (from.startsWith('.')) return relative(folder, join(dirname(file), from))[0] === '.'
          return !published.has(from) && !others.test(from)
        })
        .map((from) => `${relative(root, file)} imports ${from}`),
    )
    expect(forbidden).toEqual([])
    expect(published).toContain('@sluice/core/upstash-redis')
  })

  it('@sluice/next has Node and the parser in what only tests load', () => {
    const next = join(root, 'packages/next/src')
    const users = sources(next).filter((file) =>
      imports(file).some((name) => /^(node:|@babel|next\/exp|\.\/testing)/.test(name)),
    )
    expect(
      users.map((file) => relative(next, file)).filter((file) => !/^testing[./]/.test(file)),
    ).toEqual([])
    expect(users.length).toBeGreaterThan(2)
  })
})

/** The first room that names the file, or the folder that it is in. */
function roomOf(file: string): string {
  const path = relative(core, file).replace(/\.ts$/, '')
  const named = Object.entries(ROOMS).find(([, { of }]) => of?.test(path))
  return named?.[0] ?? path.split('/')[0] ?? path
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
  const statements = /^(?:import|export)\b(?:[^'";/]*\bfrom)?\s*'([^']+)'|\bimport\(\s*'([^']+)'/gm
  return Array.from(text.matchAll(statements), (match) => match[1] ?? match[2] ?? '')
}

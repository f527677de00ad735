import { readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import {
  AI_ROOMS,
  CLI_ROOMS,
  DASHBOARD_ROOMS,
  PORT,
  QUEUE_ROOMS,
  REPLAY_ROOMS,
  ROOMS,
  STORE_FILES,
  USAGE_ROOMS,
  WINGS,
} from './import-rules.ts'

/** The modules that a package or app may import beside its own files and published entries. */
const MODULES: Readonly<Record<string, RegExp>> = {
  'packages/core/src': /^jose$/,
  // The only room for Node.js, with what it shares with the others.
  'packages/core/src/file': /^(node:|\.\.\/[a-z])/,
  'packages/ai/src': /^$/,
  'packages/next/src': /^next\/server\.js$/,
  'packages/cloudflare/src': /^cloudflare:workers$/,
  'packages/adapters/src':
    /^(@sveltejs\/kit|@trpc\/server(\/observable)?|astro|express|fastify|h3|hono(\/route)?|node:http|react-router)$/,
  'packages/otel/src': /^@opentelemetry\/api$/,
  'packages/dashboard/src': /^(react|react-dom\/client|uplot)$/,
  'packages/local/src': /^(node:.*|ioredis|wasmoon-lua5\.1)$/,
  'packages/replay/src': /^(node:.*|csv-parse(\/browser\/esm\/sync)?)$/,
  'packages/usage/src': /^$/,
  'packages/queue/src': /^bullmq$/,
  'packages/cli/src':
    /^(node:.*|string-width|jiti|@babel\/parser|@modelcontextprotocol\/server(\/stdio)?)$/,
  'apps/bench':
    /^(node:.*|next(\/server)?|react|ioredis|esbuild|miniflare|cloudflare:workers|express|express-rate-limit|hono|hono-rate-limiter|rate-limiter-flexible|@upstash\/(ratelimit|redis))$/,
  'apps/demo': /^(next|react|jose|node:)/,
  'apps/worker': /^$/,
}

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Tables of contents, which name every room. */
const CONTENTS = new Set(['index.ts', 'main.ts', 'run-command.ts'])

/** The imports of a package's files, by their paths in it. */
function importsIn(folder: string): { rooms: string[]; imports: { from: string; to: string }[] } {
  const source = join(root, folder)
  const files = sources(source).filter((file) => !CONTENTS.has(relative(source, file)))
  return {
    rooms: [...new Set(files.map((file) => roomOf(relative(source, file))))],
    imports: files.flatMap((file) =>
      importsOf(file).map((name) => ({
        from: relative(source, file),
        to: name.startsWith('.') ? relative(source, join(dirname(file), name)) : name,
      })),
    ),
  }
}

describe.each([
  ['packages/core/src', ROOMS, /^$/],
  ['packages/ai/src', AI_ROOMS, /^@sluice\/core\b/],
  ['packages/usage/src', USAGE_ROOMS, /^@sluice\/core\b/],
  ['packages/queue/src', QUEUE_ROOMS, /^(@sluice\/core\b|bullmq$)/],
  ['packages/dashboard/src', DASHBOARD_ROOMS, /^(@sluice\/(core|usage)\b|react\b|uplot\b)/],
  ['packages/replay/src', REPLAY_ROOMS, /^(@sluice\/(ai|core)\b|csv-parse\b|node:)/],
  ['packages/cli/src', CLI_ROOMS, /^(?!\w[\w/-]*\.ts$)/],
])('%s', (folder, rules, packages) => {
  const { rooms, imports } = importsIn(folder)

  it('has these rooms and no other', () => {
    expect(rooms.toSorted()).toEqual(Object.keys(rules).toSorted())
  })

  it.each(Object.entries(rules))('%s imports only from rooms below it', (room, below) => {
    const allowed = new Set([room, ...below.split(' ')])
    const own = imports.filter(({ from }) => roomOf(from) === room)
    expect(own.length).toBeGreaterThan(0)
    expect(own.filter(({ to }) => !allowed.has(roomOf(to)) && !packages.test(to))).toEqual([])
  })
})

describe('the core', () => {
  const { imports } = importsIn('packages/core/src')

  it('has each room in one wing', () => {
    const rooms = Object.values(WINGS).flatMap((wing) => wing.split(' '))
    expect(rooms.toSorted()).toEqual(Object.keys(ROOMS).toSorted())
  })

  it.each(Object.keys(WINGS))('the wing %s stands on itself and on those before it', (name) => {
    const names = Object.keys(WINGS)
    const below = new Set(
      names.slice(0, names.indexOf(name) + 1).flatMap((wing) => WINGS[wing]?.split(' ') ?? []),
    )
    const own = new Set(WINGS[name]?.split(' '))
    const outside = imports.filter(
      ({ from, to }) => own.has(roomOf(from)) && roomOf(to) in ROOMS && !below.has(roomOf(to)),
    )
    expect(outside).toEqual([])
  })

  it.each(Object.keys(ROOMS).filter((room) => room !== 'stores'))('%s knows no store', (room) => {
    const known = STORE_FILES[room] ?? PORT
    const stores = imports.filter(
      ({ from, to }) => roomOf(from) === room && roomOf(to) === 'stores',
    )
    expect(stores.filter(({ to }) => !known.test(to))).toEqual([])
  })
})

describe.each(Object.entries(MODULES))('%s', (folder, modules) => {
  const files = sources(join(root, folder))

  it('imports its own files, published entries and these modules', () => {
    const foreign = files
      .filter((file) => folderOf(file) === folder)
      .flatMap((file) => importsOf(file).map((name) => ({ file: relative(root, file), name })))
      .filter(({ file, name }) => !isInside(folder, file, name))
      .filter(({ name }) => !modules.test(name) && !publishedEntries().has(name))
    expect(foreign).toEqual([])
  })

  it('has no circle among its files', () => {
    const cleared = new Set<string>()
    const visit = (file: string, path: readonly string[]): void => {
      expect(path, 'a circle').not.toContain(file)
      if (cleared.has(file)) return
      for (const name of importsOf(file).filter((one) => /^\..*(?<!\.css)$/.test(one))) {
        visit(fileOf(join(dirname(file), name)), [...path, file])
      }
      cleared.add(file)
    }
    for (const file of files) visit(file, [])
    expect(cleared.size).toBeGreaterThanOrEqual(files.length)
  })
})

it('reads every form of import', () => {
  const names = importsOf(join(root, 'packages/core/src/limiter/options.ts'))
  expect(names).toContain('../clock.ts')
  expect(importsOf(fileURLToPath(import.meta.url))).toContain('node:fs')
  expect(publishedEntries()).toContain('@sluice/core/upstash-redis')
})

/** Returns the innermost folder with modules of its own. */
const folderOf = (file: string): string | undefined =>
  Object.keys(MODULES)
    .filter((folder) => file.startsWith(join(root, folder, '/')))
    .toSorted((a, b) => b.length - a.length)[0]

/** Returns true if `file` imports `name` from within `folder`. */
function isInside(folder: string, file: string, name: string): boolean {
  return name.startsWith('.') && !relative(folder, join(dirname(file), name)).startsWith('.')
}

/** Returns the file that an import names. The demo leaves endings out, as Next.js does. */
function fileOf(path: string): string {
  const found = ['', '.ts', '.tsx', '/index.ts'].map((ending) => path + ending).find(isFile)
  if (found === undefined) throw new Error(`There is no file ${path}`)
  return found
}

const isFile = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false })?.isFile() ?? false

/** Names the room of a file by its path in its package, or a module by itself. */
function roomOf(path: string): string {
  if (path.startsWith('node:')) return 'node'
  if (!/\.tsx?$/.test(path)) return path
  const [folder = '', ...rest] = path.split('/')
  return rest.length === 0 || folder === 'internal' ? 'nouns' : folder
}

function publishedEntries(): Set<string> {
  const packages = readdirSync(join(root, 'packages'))
  return new Set(
    packages.flatMap((name) => {
      const text = readFileSync(join(root, 'packages', name, 'package.json'), 'utf8')
      const { exports } = JSON.parse(text) as { exports: object }
      return Object.keys(exports).map((entry) => join('@sluice', name, entry))
    }),
  )
}

function sources(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (/^(node_modules|dist|\.next|\.turbo|\.wrangler)$/.test(entry.name)) return []
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return sources(path)
    return /(?<!\.d)\.tsx?$/.test(entry.name) ? [path] : []
  })
}

function importsOf(file: string): string[] {
  const text = readFileSync(file, 'utf8')
  // `import … from 'x'`, `export … from 'x'`, `import 'x'`, and `import('x')` as an expression or type.
  const statements = /^(?:import|export)\b(?:[^'";/]*\bfrom)?\s*'([^']+)'|\bimport\(\s*'([^']+)'/gm
  return Array.from(text.matchAll(statements), (match) => match[1] ?? match[2] ?? '')
}

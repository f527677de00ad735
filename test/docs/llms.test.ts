import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, vi } from 'vitest'
import { makeLlms } from '../../scripts/llms.ts'

// Only workerd has this module.
vi.mock('cloudflare:workers', () => ({ waitUntil: () => undefined, DurableObject: Object }))

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const text = read('llms.txt')

it('llms.txt is made from the docs', () => {
  expect(text, 'make it anew: npm run docs:llms').toBe(makeLlms())
})

it('llms.txt leads to every page that the index of the docs leads to', () => {
  const pages = Array.from(read('docs/README.md').matchAll(/\]\(([^)#]+)/g), ([, page]) => page)
  expect(pages.length).toBeGreaterThan(70)
  const missing = pages.filter(
    (page) => !text.includes(page?.startsWith('../') ? `](${page.slice(3)})` : `](docs/${page})`),
  )
  expect(missing).toEqual([])
})

it('llms.txt has the form that llmstxt.org gives', () => {
  const [title, summary, ...rest] = text.split(/\n{2,}/)
  expect(title).toBe('# Sluice')
  expect(summary).toMatch(/^> [^\n]+$/)
  expect(rest.filter((part) => !/^(?:## |- |Facts|Never|Deprecated)/.test(part))).toEqual([])
})

it.each(['llms.txt', 'docs/start/README.md'])('the names of entries in %s exist', async (page) => {
  const named = read(page).matchAll(/((?:`\w+[^`]*`(?:, | or | and )?)+) of `(@sluice\/[\w/-]+)`/g)
  const names = Array.from(named).flatMap(([, listed = '', entry = '']) =>
    Array.from(listed.matchAll(/`(\w+)/g), ([, name = '']) => ({ entry, name })),
  )
  expect(names.length).toBeGreaterThan(2)
  for (const { entry, name } of names) {
    expect(Object.keys((await import(entry)) as object)).toContain(name)
  }
})

it('the code in the first part of llms.txt names functions, and options, that exist', async () => {
  const [facts = ''] = text.split('\n\n## ')
  const packages = globSync('packages/*/package.json', { cwd: root })
  const entries = packages.flatMap((path) => {
    const { name, exports } = JSON.parse(read(path)) as { name: string; exports: object }
    return Object.keys(exports).map((entry) => `${name}${entry.slice(1)}`)
  })
  // An optional peer may be missing.
  const loaded = await Promise.all(entries.map((entry) => import(entry).catch(() => ({}))))
  const names = new Set(loaded.flatMap((entry) => Object.keys(entry as object)))
  const code = Array.from(facts.matchAll(/`([^`]+)`/g), ([, part = '']) => part)
  const called = code.flatMap((part) =>
    Array.from(part.matchAll(/(?<![.\w])([a-z]\w+)\(/gi), ([, name = '']) => name),
  )
  expect(called.length).toBeGreaterThan(15)
  expect(called.filter((name) => !names.has(name) && name !== 'OpenAI')).toEqual([])
  const types = globSync('packages/*/dist/**/*.d.ts', { cwd: root }).map(read).join('\n')
  const options = code.flatMap((part) =>
    Array.from(part.matchAll(/(?<![?\w])([a-z]\w+):/gi), ([, name = '']) => name),
  )
  expect(options.length).toBeGreaterThan(10)
  // A dimension, and a unit, are names that an app chooses.
  const own = new Set(['tenant', 'token'])
  const unknown = options.filter(
    (name) => !own.has(name) && !new RegExp(`\\b${name}\\??:`).test(types),
  )
  expect(unknown).toEqual([])
})

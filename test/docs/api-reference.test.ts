import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { readEntries, writePages } from '../../scripts/api-reference.ts'

// Only workerd has this module.
vi.mock('cloudflare:workers', () => ({ waitUntil: () => undefined, DurableObject: Object }))

const folder = mkdtempSync(join(tmpdir(), 'sluice-api-'))
const entries = readEntries()

beforeAll(() => writePages(entries, folder))
afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

it('the reference has a page for each entry of each package', () => {
  const list = readFileSync(join(folder, 'README.md'), 'utf8')
  expect(entries.length).toBeGreaterThan(15)
  for (const { name, page } of entries) expect(list).toContain(`[\`${name}\`](${page})`)
})

describe.each(entries)('the reference of $name', ({ name, page, types, exports }) => {
  it('has a section for every name that the entry exports, and for no other', async () => {
    const text = readFileSync(join(folder, page), 'utf8')
    const sections = Array.from(text.matchAll(/^### `(\w+)`$/gm), ([, section]) => section)
    const values = Object.keys((await import(name)) as object)
    expect(sections).toHaveLength(exports.length)
    expect(new Set(sections)).toEqual(
      new Set(values.concat(exportedNames(readFileSync(types, 'utf8')))),
    )
  })

  it('says of each what it is', () => {
    const silent = exports.filter(({ doc }) => !doc.text && doc.tags.length === 0)
    expect(silent.map((exported) => exported.name)).toEqual([])
  })

  it('begins each description with what the reader gets, not with a question word', () => {
    const documented = exports.flatMap(({ doc, members }) => [
      doc,
      ...members.map((one) => one.doc),
    ])
    const texts = documented.map(({ text }) => text)
    expect(texts.filter((text) => /^(What|Whether|Those|How|Who|Which)\b/.test(text))).toEqual([])
  })

  it('says of each option what it is', () => {
    const options = exports.filter((exported) => exported.name.endsWith('Options'))
    const silent = options.flatMap(({ name: owner, members }) =>
      members
        .filter(({ doc }) => !doc.text && doc.tags.length === 0)
        .map((member) => `${owner}.${member.name}`),
    )
    expect(silent).toEqual([])
  })
})

describe('a section', () => {
  it('shows a function’s signature, errors and example', () => {
    const section = sectionOf('slidingWindow')
    expect(section).toContain('function slidingWindow<')
    expect(section).toContain('- **Throws** `ConfigError`')
    expect(section).toMatch(/```ts\nslidingWindow\(\{/)
  })

  it('shows the fields of options with their defaults, inherited ones included', () => {
    const section = sectionOf('SlidingWindowOptions')
    expect(section).toContain('- `window: Duration`')
    expect(section).toMatch(/- `unit\?: Unit`\n {2}\S.*\n {2}- \*\*Default:\*\* 'request'/)
  })
})

function sectionOf(name: string): string | undefined {
  const sections = readFileSync(join(folder, 'core.md'), 'utf8').split('\n### ')
  return sections.find((section) => section.startsWith(`\`${name}\``))
}

/** The names in an entry's declarations, read as text: by another way than the reference's. */
function exportedNames(declarations: string): string[] {
  expect(declarations).not.toMatch(/^export \*/m)
  const lists = Array.from(declarations.matchAll(/^export (?:type )?\{([^}]*)\}/gm))
  const listed = lists.flatMap(([, names = '']) =>
    names.split(',').map((name) => name.trim().split(' ').at(-1) ?? ''),
  )
  const declared = Array.from(
    declarations.matchAll(
      /^export (?:declare )?(?:abstract )?(?:function|class|const|type|interface) (\w+)/gm,
    ),
    ([, name = '']) => name,
  )
  return [...listed, ...declared].filter((name) => name !== '')
}

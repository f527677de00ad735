import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { makeLlms } from '../../scripts/llms.ts'

const read = (path: string): string =>
  readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
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
  expect(rest.filter((part) => !/^(?:## |- |Facts)/.test(part))).toEqual([])
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

import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const core = new URL('../../packages/core/', import.meta.url)
const read = (name: string): string => readFileSync(new URL(name, core), 'utf8')
const { exports } = JSON.parse(read('package.json')) as {
  exports: Record<string, { default?: string }>
}
const entries = Object.keys(exports).filter((entry) => exports[entry]?.default !== undefined)

it.each(entries)('the README of the core names each function of %s', async (entry) => {
  const readme = read('README.md')
  const names = Object.keys((await import(`@sluice/core${entry.slice(1)}`)) as object)
  const isPublic = !entry.startsWith('./internal')
  expect(isPublic ? names.filter((name) => !readme.includes(`\`${name}\``)) : []).toEqual([])
  expect(readme).toContain(`\`@sluice/core${entry.slice(1)}\``)
})

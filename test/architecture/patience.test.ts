import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const root = new URL('../../', import.meta.url)
// Not the files that other tests write beside them, which may be gone when they are read.
const files = execFileSync('git', ['ls-files', 'test/**/*.ts'], { cwd: root, encoding: 'utf8' })
  .trim()
  .split('\n')
  .filter((file) => existsSync(new URL(file, root)) && !file.endsWith('/patience.test.ts'))

/** The calls of a function in a text, with their arguments. */
function callsOf(name: string, text: string): string[] {
  return Array.from(
    text.matchAll(new RegExp(`\\b${name.replace('.', '\\.')}\\(`, 'g')),
    (match) => {
      const begin = match.index + match[0].length
      let [depth, end] = [1, begin]
      for (; depth > 0 && end < text.length; end += 1) {
        if ('([{'.includes(text[end] ?? ' ')) depth += 1
        if (')]}'.includes(text[end] ?? ' ')) depth -= 1
      }
      return text.slice(begin, end - 1)
    },
  )
}

const calls = (name: string): { file: string; call: string }[] =>
  files.flatMap((file) =>
    callsOf(name, readFileSync(new URL(file, root), 'utf8')).map((call) => ({ file, call })),
  )

it.each(['vi.waitFor', 'vi.waitUntil'])('no %s gives up after a second, its default', (name) => {
  const found = calls(name)
  expect(found.length).toBeGreaterThan(5)
  expect(found.filter(({ call }) => !/PATIEN|timeout|\d{2}_000/.test(call))).toEqual([])
})

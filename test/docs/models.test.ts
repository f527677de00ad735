import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { findPrice, LIST_PRICES } from '@sluice/ai'
import { describe, expect, it } from 'vitest'
import { MODELS } from '../support/models.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const files = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' }).split('\n')

/** Files from which a reader copies: pages, examples, the templates of `sluice init`, the demo and the gateway. */
const copied = files.filter((file) =>
  /^(?:README\.md|docs\/.*\.md|packages\/[^/]+\/README\.md|examples\/.*\.tsx?|packages\/cli\/src\/init\/.*\.ts|apps\/(?:demo|worker)\/(?!node_modules).*\.(?:tsx?|mjs))$/.test(
    file,
  ),
)

/** A model that does not exist yet, in an example of a price that arrives later. */
const INVENTED = new Set(['gpt-7'])

/** The names of models in the code of a file: of a page, in its blocks. */
function modelsIn(file: string): string[] {
  const text = readFileSync(root + file, 'utf8')
  const blocks = Array.from(text.matchAll(/^ *```\w*\n([^]*?)^ *```/gm), ([, block = '']) => block)
  const code = file.endsWith('.md') ? blocks.join('\n') : text
  return Array.from(
    code.matchAll(
      /['"`](?:openai\/|anthropic\/)?((?:gpt-\d|claude-[a-z]|gemini-\d|o\d-)[\w.-]*)['"`]/g,
    ),
    ([, name = '']) => name,
  ).filter((name) => !INVENTED.has(name))
}

const named = copied.flatMap((file) => modelsIn(file).map((model) => [model, file] as const))

/** The models that a scenario of the demo bills by, beside those of the constant. */
const OTHERS = /^apps\/demo\/(?:lib\/overspend\/model|app\/api\/chat\/ladder\/route)\.ts$/

const DAY_MS = 86_400_000
/** The newest day of the table: a test must not fail by the calendar alone. */
const today = Array.from(LIST_PRICES.models().values(), ({ asOf = '' }) => asOf)
  .toSorted()
  .at(-1)

/** Returns true for a model that its vendor shuts down within 120 days of the table's newest day, or before. */
const endsSoon = (model: string): boolean =>
  Date.parse(findPrice(model, LIST_PRICES).endsOn ?? '9999-01-01') - Date.parse(today ?? '') <
  120 * DAY_MS

describe('the models that a reader copies', () => {
  it('are those of one constant', () => {
    expect(new Set(named.map(([, file]) => file)).size).toBeGreaterThan(8)
    const known = new Set<string>(Object.values(MODELS))
    const others = named.filter(([model, file]) => !known.has(model) && !OTHERS.test(file))
    expect(others).toEqual([])
  })

  it('have a price, and do not end within 120 days of the table of prices', () => {
    const models = [...new Set([...Object.values(MODELS), ...named.map(([model]) => model)])]
    expect(models.filter((model) => endsSoon(model))).toEqual([])
  })

  it('would be found if they ended', () => {
    expect(endsSoon('gpt-4o')).toBe(true)
    expect(modelsIn('README.md')).toEqual([MODELS.openai])
  })
})

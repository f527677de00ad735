import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { typeCheck, WORKER_GLOBALS } from '../../support/type-check.ts'

const here = fileURLToPath(new URL('.', import.meta.url))
const folder = mkdtempSync(join(here, 'types-'))
/** Files of correct code. */
const ACCEPTED = ['accepted.ts', 'adapters.ts', 'costs.ts', 'ai-sdk.ts']
const DIRECTIVE = '// @ts-expect-error -- '

const sourceOf = (file: string): string => readFileSync(join(here, file), 'utf8')

/** Every misuse, with the number of its line and what the compiler must say. */
const MISUSES = Array.from(sourceOf('refused.ts').split('\n').entries(), ([index, text]) =>
  text.startsWith(DIRECTIVE) ? [{ line: index + 2, says: text.slice(DIRECTIVE.length) }] : [],
).flat()

let output: readonly string[] = []

beforeAll(() => {
  for (const file of ACCEPTED) writeFileSync(join(folder, file), sourceOf(file))
  const refused = sourceOf('refused.ts')
    .replaceAll(DIRECTIVE, '// ')
    .replace('accepted.ts', 'accepted')
  writeFileSync(join(folder, 'refused.ts'), refused)
  output = typeCheck(folder, [...ACCEPTED, 'refused.ts'], WORKER_GLOBALS)
    .split('\n')
    .filter((line) => line !== '')
})

afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

describe('the types of a limiter', () => {
  it.each(ACCEPTED)('accept correct code under the strictest options: %s', (file) => {
    expect(output.filter((line) => line.includes(file))).toEqual([])
  })

  it.each(MISUSES)('refuse line $line in one line: $says', ({ line, says }) => {
    const own = output.filter((text) => text.includes(`refused.ts(${line},`))
    expect(own.map((text) => text.replace(/^.*?: error /, ''))).toEqual([says])
  })

  it('give no other errors, and each in one line', () => {
    expect(MISUSES.length).toBeGreaterThan(30)
    expect(output).toHaveLength(MISUSES.length)
    for (const { says } of MISUSES) expect(says.length).toBeLessThan(250)
  })
})

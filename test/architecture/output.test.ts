/* Standard output belongs to an app: an MCP server writes its protocol there. */
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Calls that write to standard output. Those of `console` that are left write to standard error. */
const TO_OUTPUT =
  /\bconsole\.(?!error\b|warn\b|trace\b)\w+\(|process\.stdout|\bfd: *1\b|\b(?:write|writeFile)Sync\(1\b/

/** The files of the command that write its results. */
const OF_COMMAND = ['packages/cli/src/main.ts', 'packages/cli/src/output.ts']

const files = globSync('packages/*/src/**/*.{ts,tsx}', { cwd: root }).toSorted()
const codeOf = (file: string): string =>
  readFileSync(`${root}/${file}`, 'utf8').replaceAll(/^\s*(?:\*|\/\/|\/\*).*$/gm, '')

describe('a package', () => {
  it('writes nothing to standard output, but for the results of the command', () => {
    expect(files.length).toBeGreaterThan(500)
    expect(files.filter((file) => TO_OUTPUT.test(codeOf(file)))).toEqual(OF_COMMAND)
  })

  it.each([
    'console.info(x)',
    'console.log(`a`)',
    'console.table(rows)',
    'process.stdout.write(x)',
  ])('is found by %s', (code) => expect(code).toMatch(TO_OUTPUT))
})

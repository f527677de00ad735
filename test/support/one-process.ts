/* Run before each file that shares its process: fails a file that would change what the files after it find. */
import { isDeepStrictEqual } from 'node:util'
import { afterAll } from 'vitest'

/** Names that the WebAssembly of the embedded engine keeps there. */
const ENGINE = new Set(['asm', 'buffer'])

/** The functions and classes that a process has by their names, such as `fetch`. */
function functions(): Map<string, unknown> {
  const found = new Map<string, unknown>()
  for (const [name, one] of Object.entries(Object.getOwnPropertyDescriptors(globalThis))) {
    const value: unknown = one.get ?? one.value
    if (typeof value === 'function' && !ENGINE.has(name)) found.set(name, value)
  }
  return found
}

const [before, environment] = [functions(), { ...process.env }]

afterAll(() => {
  const now = functions()
  const changed = [...before.keys()].filter((name) => now.get(name) !== before.get(name))
  if (!isDeepStrictEqual({ ...process.env }, environment)) changed.push('process.env')
  if (changed.length === 0) return
  throw new Error(`The file has changed ${changed.join()} for all files: name it in test/suites.ts`)
})

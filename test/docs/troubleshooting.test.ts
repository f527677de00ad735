import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { format } from 'node:util'
import * as core from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { startLocal, type LocalServer } from '@sluice/local'
import { afterAll, afterEach, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import { typeCheck, WORKER_GLOBALS } from '../support/type-check.ts'
import { patient } from '../support/docs-block.ts'

const path = fileURLToPath(new URL('../../docs/troubleshooting.md', import.meta.url))
const page = readFileSync(path, 'utf8')

/** A mistake of the page: its code, and what is read after it. */
interface Mistake {
  readonly title: string
  readonly code: string
  readonly text: string
  readonly file: string
}

const SECTION = /### (.*)\n\n```ts\n([^]*?)```\n\n```text\n([^]*?)```/g
const mistakes = Array.from(
  page.matchAll(SECTION),
  ([, title = '', code = '', text = ''], index): Mistake => ({
    title,
    code,
    text,
    file: `mistake-${index + 1}.ts`,
  }),
)
const [uncompiled, compiled] = [true, false].map((fails) =>
  mistakes.filter(({ text }) => text.startsWith('error TS') === fails),
) as [Mistake[], Mistake[]]

/** The names that the blocks use without an import. */
const GLOBALS = `
type Core = typeof import('@sluice/core')
declare const createLimiter: Core['createLimiter'], slidingWindow: Core['slidingWindow']
declare const dailyCap: Core['dailyCap'], definePlans: Core['definePlans']
declare const limiter: import('@sluice/core').Limiter, store: import('@sluice/core').Store
declare const policies: import('@sluice/core').Policy[]
declare const handle: (request: Request) => Response
`
// Inside the workspace, so that the packages are found as a user's would be.
const folder = mkdtempSync(fileURLToPath(new URL('mistakes-', import.meta.url)))
let local: LocalServer
beforeAll(async () => {
  local = await startLocal({ redisUrl: inject('redisUrl') })
  for (const { file, code } of mistakes) {
    const runnable = patient(code.replace('http://127.0.0.1:8079', local.url))
    writeFileSync(join(folder, file), `${runnable}\nexport {}\n`)
  }
})
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await local.close()
})
afterEach(() => {
  vi.unstubAllGlobals()
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

describe('the likeliest mistakes', () => {
  it('are all read from the page', () => {
    const headings = page.slice(page.indexOf('## The likeliest')).match(/^### /gm)
    expect(mistakes).toHaveLength(headings?.length ?? 0)
    expect(mistakes.length).toBeGreaterThanOrEqual(6)
  })

  it('compile, or are told by the compiler as the page says', () => {
    const files = mistakes.map(({ file }) => file)
    const output = typeCheck(folder, files, WORKER_GLOBALS + GLOBALS)
    const errors = output.split(/(?=^\S+\.ts\(\d)/m).filter(Boolean)
    const read = errors.map((error) => [/[\w-]+\.ts/.exec(error)?.[0], error.replace(/^.*?: /, '')])
    expect(Object.fromEntries(read)).toEqual(
      Object.fromEntries(uncompiled.map(({ file, text }) => [file, text])),
    )
  })

  it.each(compiled)('$title is told when the code runs, as the page says', async (mistake) => {
    expect(await told(mistake)).toBe(mistake.text.trim())
    expect(mistake.text).not.toBe('')
  })
})

/** The error or output when the code of a mistake runs. */
async function told({ file }: Mistake): Promise<string> {
  const store = memory()
  const policies = [
    core.slidingWindow({ name: 'rpm', limit: 60, window: '1m', per: ['tenant'] }),
  ] as const
  const limiter = core.createLimiter({ store, policies: [...policies] })
  const globals = { ...core, store, policies, limiter, handle: () => new Response('answer') }
  for (const [name, value] of Object.entries(globals)) vi.stubGlobal(name, value)
  vi.stubEnv('UPSTASH_REDIS_REST_URL', undefined)
  vi.stubEnv('UPSTASH_REDIS_REST_TOKEN', undefined)
  const lines: string[] = []
  for (const method of ['log', 'warn', 'error'] as const) {
    vi.spyOn(console, method).mockImplementation((...values) => void lines.push(format(...values)))
  }
  try {
    await import(join(folder, file))
  } catch (error) {
    lines.push(error instanceof Error ? `${error.name}: ${error.message}` : String(error))
  }
  return lines.join('\n')
}

import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { Miniflare } from 'miniflare'
import { build as buildByVite } from 'vite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))

/** Answers the calls of four tenants at once with the number of commands in each request. */
const WORKER = `
import { createLimiter, slidingWindow } from '@sluice/core'
import { upstash } from '@sluice/core/upstash'

export default {
  async fetch() {
    const sent = []
    const fetch = async (url, { body }) => {
      sent.push(url.endsWith('/pipeline') ? JSON.parse(body).length : 1)
      return Response.json({ result: 1 })
    }
    const store = upstash({ url: 'http://redis.example', token: 'token', fetch, pipeline: true })
    await Promise.all(['a', 'b', 'c', 'd'].map((key) => store.reset([key]).catch(() => {})))
    return Response.json(sent)
  },
}
`

// Outside the workspace, where only the packages are found.
const folder = mkdtempSync(join(tmpdir(), 'sluice-variants-'))
const put = (name: string, text: string): void => writeFileSync(join(folder, name), text)

beforeAll(() => {
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  put('worker.js', WORKER)
  put('package.json', '{ "type": "module" }')
  put(
    'wrangler.jsonc',
    '{ "name": "app", "main": "worker.js", "compatibility_date": "2026-01-01" }',
  )
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function byEsbuild(conditions: string[], platform: 'node' | 'browser' = 'browser') {
  const { outputFiles } = await build({
    absWorkingDir: folder,
    entryPoints: ['worker.js'],
    bundle: true,
    write: false,
    format: 'esm',
    platform,
    conditions,
  })
  return outputFiles[0]?.text ?? ''
}

async function byVite(conditions: string[]) {
  const output = await buildByVite({
    root: folder,
    configFile: false,
    logLevel: 'silent',
    build: { ssr: 'worker.js', write: false, minify: false },
    ssr: { noExternal: true, resolve: { conditions } },
  })
  const { output: chunks } = output as { output: { code?: string }[] }
  return chunks.map(({ code }) => code ?? '').join('\n')
}

async function byWrangler() {
  const args = [join(root, 'node_modules/wrangler/bin/wrangler.js'), 'deploy', '--dry-run']
  const env = { ...process.env, WRANGLER_SEND_METRICS: 'false', CI: 'true' }
  await run(process.execPath, [...args, '--outdir', 'built'], { cwd: folder, env })
  return readFileSync(join(folder, 'built/worker.js'), 'utf8')
}

/** Builds, and whether they contain what sends the calls of one moment together. */
const BUILDS: readonly [string, () => Promise<string>, boolean][] = [
  ['of esbuild for Workers', () => byEsbuild(['workerd', 'worker', 'browser']), false],
  ['of esbuild for an edge runtime', () => byEsbuild(['edge-light', 'browser']), false],
  ['of esbuild for Workers, without a condition', () => byEsbuild([]), true],
  ['of esbuild for Node.js', () => byEsbuild([], 'node'), true],
  ['of Vite for Workers', () => byVite(['workerd', 'module', 'browser']), false],
  ['of Vite for Node.js', () => byVite(['module', 'node']), true],
  ['of wrangler', byWrangler, false],
]

describe.each(BUILDS)('a build %s', (_, make, isForServers) => {
  it(`${isForServers ? 'contains' : 'does not contain'} the pipeline, and sends each call by itself in workerd`, async () => {
    const contents = await make()
    expect(contents.includes('/pipeline`')).toBe(isForServers)
    await using miniflare = new Workerd(contents)
    expect(await miniflare.answer()).toEqual([1, 1, 1, 1])
  })
})

/** A Worker in workerd. */
class Workerd {
  readonly #miniflare: Miniflare

  constructor(contents: string) {
    this.#miniflare = new Miniflare({
      workers: [
        {
          config: {
            name: 'worker',
            compatibilityDate: '2026-01-01',
            manifest: {
              mainModule: 'index.js',
              modules: { 'index.js': { type: 'esm', contents } },
            },
          },
        },
      ],
    })
  }

  async answer(): Promise<unknown> {
    return (await fetch(await this.#miniflare.ready)).json()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#miniflare.dispose()
  }
}

const CALLS = `
  const store = upstash({ url: 'http://redis.example', token: 'token', pipeline: true, fetch: async (url, { body }) => {
    console.log(url.endsWith('/pipeline') ? JSON.parse(body).length : 1)
    return Response.json([{ result: 1 }, { result: 1 }])
  } })
  void Promise.allSettled([store.reset(['a']), store.reset(['b'])])`

/** Ways to load the entry in Node.js, and the number of commands in each request of two calls. */
const LOADS: readonly [string, readonly string[], string][] = [
  [
    'as a module',
    ['--input-type=module', '-e', `import { upstash } from '@sluice/core/upstash'\n${CALLS}`],
    '2',
  ],
  [
    'by require',
    [
      '--input-type=commonjs',
      '-e',
      `const { upstash } = require('@sluice/core/upstash')\n${CALLS}`,
    ],
    '2',
  ],
  [
    'with the condition of Workers',
    [
      '-C',
      'workerd',
      '--input-type=module',
      '-e',
      `import { upstash } from '@sluice/core/upstash'\n${CALLS}`,
    ],
    '1\n1',
  ],
  [
    'with the condition of edge runtimes',
    [
      '-C',
      'edge-light',
      '--input-type=module',
      '-e',
      `import { upstash } from '@sluice/core/upstash'\n${CALLS}`,
    ],
    '1\n1',
  ],
]

it.each(LOADS)('two calls of one moment in Node.js, loaded %s', async (_, args, sent) => {
  const { stdout } = await run(process.execPath, [...args], { cwd: folder })
  expect(stdout.trim()).toBe(sent)
})

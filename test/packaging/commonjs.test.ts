import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { tableOf } from '../support/markdown.ts'
import { lockedVersion } from './locked-version.ts'

const run = promisify(execFile)
const page = readFileSync(new URL('../../docs/commonjs.md', import.meta.url), 'utf8')
const root = fileURLToPath(new URL('../..', import.meta.url))

/** The files of the page by name. */
const FILES = new Map(
  [...page.matchAll(/```js\n\/\/ (\S+)\n([^]*?)```/g)].map(([, name = '', code = '']) => [
    name,
    code,
  ]),
)

/** A test of a reader, with the limiter of the page on tests. */
const TEST = `
const { createLimiter, manualClock, slidingWindow } = require('@sluice/core')
const { memory } = require('@sluice/core/memory')

test('a tenant has one request a minute', async () => {
  const clock = manualClock(0)
  const limiter = createLimiter({
    store: memory(),
    clock,
    policies: [slidingWindow({ name: 'rpm', limit: 1, window: '1m', per: ['tenant'] })],
  })
  const isAllowed = async () => (await limiter.check({ tenant: 'acme' })).allowed
  expect(await isAllowed()).toBe(true)
  expect(await isAllowed()).toBe(false)
  clock.advance(60_000)
  expect(await isAllowed()).toBe(true)
})
`

// Outside the workspace: nothing is found but what is installed.
const folder = mkdtempSync(join(tmpdir(), 'sluice-commonjs-'))
const put = (path: string, text: string): void => writeFileSync(join(folder, path), text)

/** The tools that the page speaks of, which the workspace itself does not use. */
const TOOLS = [
  'jest@30.5.2',
  '@babel/plugin-transform-modules-commonjs@8.1.2',
  'typescript-5.4@npm:typescript@5.4.5',
  'typescript-5.9@npm:typescript@5.9.3',
]

// Installs as a user does, which takes as long as the machine and the network need.
beforeAll(async () => {
  put('package.json', JSON.stringify({ private: true, type: 'commonjs' }))
  const flags = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts']
  await run('npm', ['install', ...flags, ...TOOLS, `jose@${lockedVersion('jose')}`], {
    cwd: folder,
  })
  for (const name of ['core', 'ai']) {
    const target = join(folder, 'node_modules/@sluice', name)
    mkdirSync(target, { recursive: true })
    for (const part of ['package.json', 'dist']) {
      cpSync(join(root, 'packages', name, part), join(target, part), { recursive: true })
    }
  }
  for (const [name, code] of FILES) put(name, code)
  put('limits.test.js', TEST)
}, 300_000)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Runs a command of Node.js, and returns its output and its exit code. */
async function node(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  try {
    const options = { cwd: folder, env: { ...process.env, ...env } }
    const { stdout, stderr } = await run(process.execPath, [...args], options)
    return { output: stdout + stderr, code: 0 }
  } catch (error) {
    const { stdout, stderr, code } = error as { stdout: string; stderr: string; code: number }
    return { output: stdout + stderr, code }
  }
}

describe('CommonJS', () => {
  it('loads the limiter of limits.cjs, and the packages by import()', async () => {
    const script = `(async () => { const { limiter } = require("./limits.cjs")
      console.log((await limiter.check({ tenant: 'acme' })).policies[0].remaining)
      console.log(typeof (await import('@sluice/core')).createLimiter) })()`
    expect(await node(['-e', script])).toEqual({ output: '59\nfunction\n', code: 0 })
  })
})

describe('TypeScript', () => {
  const code = `
    import { createLimiter, dailyCap, definePlans } from '@sluice/core'
    import { memory } from '@sluice/core/memory'
    import { jwtSubject } from '@sluice/core/jwt'
    import { LIST_PRICES, modelHandler, modelPolicies } from '@sluice/ai'
    export const limiter = createLimiter({
      store: memory(),
      plans: definePlans({ starter: { daily: 500 }, growth: { daily: 2_000 } }),
      policies: [dailyCap({ name: 'daily', limit: ({ plan }) => plan.daily, per: ['tenant'] })],
    })
    export const decision = limiter.check({ tenant: 'acme', plan: 'growth' })
    const policies = modelPolicies({ per: ['tenant'], rpm: 1, tpm: 5, daily: 5, inFlight: 5 })
    const subject = jwtSubject({ secret: 'x'.repeat(32), algorithms: ['HS256'] })
    const url = 'https://api.openai.com/v1/chat/completions'
    export const POST = modelHandler(
      createLimiter({ store: memory(), policies }),
      { subject, prices: LIST_PRICES },
      { url, key: 'k' },
    )
  `

  /** Returns what a version of TypeScript says of the code. */
  async function check(version: string, file: string, module: string, moduleResolution: string) {
    const compilerOptions = {
      strict: true,
      noEmit: true,
      target: 'es2022',
      lib: ['es2022', 'dom', 'dom.iterable'],
      module,
      moduleResolution,
      types: [],
    }
    put(file, code)
    put('tsconfig.json', JSON.stringify({ compilerOptions, files: [file] }))
    return node([`node_modules/typescript-${version}/bin/tsc`])
  }

  const settings = [...tableOf(page, 'your project').values()]
  const errors = [...tableOf(page, 'error').keys()]
  const KINDS = ['esm.mts', 'bundled.mts', 'commonjs.cts']

  it.each(settings.map((row, index) => [row, KINDS[index] ?? ''] as const))(
    'compiles with %j',
    async (row, file) => {
      const cell = (name: string): string => row[name]?.replaceAll('`', '') ?? ''
      // 5.9 stands for 5.8, too.
      const versions = cell('TypeScript') === '5.4' ? ['5.4', '5.9'] : ['5.9']
      for (const version of versions) {
        const settingsOf = [cell('`module`'), cell('`moduleResolution`')] as const
        const found = await check(version, file, ...settingsOf)
        expect([version, found]).toEqual([version, { output: '', code: 0 }])
      }
    },
    60_000,
  )

  it('says what the page says of the other settings', { timeout: 60_000 }, async () => {
    const listed = errors.map((error) => error.replaceAll('`', ''))
    const { output: old } = await check('5.4', 'old.ts', 'commonjs', 'node10')
    const { output: commonjs } = await check('5.4', 'commonjs.cts', 'nodenext', 'nodenext')
    expect(old).toContain(listed[0])
    expect(commonjs).toContain(listed[1])
  })
})

describe('Jest', () => {
  const jest = 'node_modules/jest/bin/jest.js'

  it(
    'runs a test that is compiled to CommonJS, with the settings of the page',
    { timeout: 60_000 },
    async () => {
      const { output, code } = await node([jest, '--config', 'jest.config.cjs', 'limits.test.js'])
      expect(output).toContain('Tests:       1 passed, 1 total')
      expect(code).toBe(0)
    },
  )

  it(
    'runs a test that is an ES module, with the settings of the page',
    { timeout: 60_000 },
    async () => {
      put(
        'limits.test.mjs',
        TEST.replaceAll(/^const (.+) = require\((.+)\)$/gm, 'import $1 from $2'),
      )
      const env = { NODE_OPTIONS: '--experimental-vm-modules' }
      const { output, code } = await node([jest, '--config', 'jest.config.mjs'], env)
      expect(output).toContain('Tests:       1 passed, 1 total')
      expect(code).toBe(0)
    },
  )
})

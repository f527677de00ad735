import { runCommand } from '@sluice/cli'
import { afterAll, describe, expect, it } from 'vitest'
import { NODES, project, removeProjects } from './project.ts'

afterAll(removeProjects)

const WITH_LIMITER = [
  'show',
  'why',
  'set',
  'raise',
  'reset',
  'preview',
  'apply',
  'undo',
  'log',
  'usage',
  'keys',
  'doctor',
  'mcp',
]
const COMMANDS = ['init', 'local', 'dev', 'token', ...WITH_LIMITER, 'queue', 'replay']
const MEMORY = `
import { createLimiter, slidingWindow } from '@sluice/core'
import { memory } from '@sluice/core/memory'
const of = (name: string) =>
  createLimiter({ store: memory(), policies: [slidingWindow({ name, limit: 6, window: '1m', per: ['tenant'] })] })
`

describe('the command line', () => {
  it.each([[[]], [['--help']], [['-h']]])('lists the commands: sluice %s', async (args) => {
    const { out, err, exitCode } = await project({}).terminal(args)
    expect({ err, exitCode }).toEqual({ err: '', exitCode: 0 })
    for (const name of COMMANDS) expect(out).toMatch(new RegExp(`^  ${name} +\\w`, 'm'))
  })

  it.each(COMMANDS)('explains each option of %s', async (name) => {
    const { out, exitCode } = await project({}).terminal([name, '--help'])
    expect(exitCode).toBe(0)
    expect(out).toMatch(new RegExp(`^Usage: sluice ${name}\\b`))
    const ofLimiter = WITH_LIMITER.includes(name) ? ['--limits', '--limiter', '--env'] : []
    for (const option of [...ofLimiter, '--json', '--help']) {
      expect(out).toContain(`  ${option} `)
    }
    expect(Math.max(...out.split('\n').map(({ length }) => length))).toBeLessThan(121)
  })

  it.each([
    'set rpm limit=5 --yes',
    'raise rpm 9 --until 1h --yes',
    'apply --yes',
    'reset --tenant a --yes',
    'keys create --tenant a --yes',
  ])('does not change the memory of its own process: %s', async (command) => {
    const app = project({
      'limits.ts': `
import { createLimiter, slidingWindow } from '@sluice/core'
import { runtimeConfiguration } from '@sluice/core/configuration'
import { memory } from '@sluice/core/memory'
export const limiter = createLimiter({
  store: memory(),
  policies: [slidingWindow({ name: 'rpm', limit: 6, window: '1m', per: ['tenant'] })],
  extensions: [runtimeConfiguration({ allow: { rpm: ['limit'] } })],
})
export const configuration = [{ policy: 'rpm', settings: { limit: 30 } }]
`,
    })
    const { out, err, exitCode } = await app.terminal(command.split(' '))
    expect({ out, exitCode }).toEqual({ out: '', exitCode: 1 })
    expect(err).toContain('the store is the memory of one process')
  })

  it('runs from code, too', async () => {
    const { folder } = project({ 'limits.ts': `${MEMORY}export const limiter = of('rpm')` })
    const { text, json } = await runCommand(['show', '--json'], folder)
    expect(JSON.parse(text)).toEqual(json)
    expect(json).toMatchObject({ limits: [{ name: 'rpm', limit: 6 }] })
    await expect(runCommand(['nope'], folder)).rejects.toMatchObject({ name: 'CommandError' })
  })

  it('prints its version', async () => {
    expect((await project({}).terminal(['--version'])).out).toMatch(/^\d+\.\d+\.\d+$/)
  })

  const MISTAKES: readonly (readonly [args: string, says: string])[] = [
    [
      'nope',
      'there is no command "nope"; there are init, local, dev, token, show, why, set, raise, stop, start, reset, prices, preview, apply, undo, log, usage, queue, top, keys, credits, replay, doctor, mcp',
    ],
    ['show --nope', "Unknown option '--nope'"],
    ['show --tenant', "Option '--tenant <value>' argument missing. See: sluice show --help"],
    ['show extra', 'Unexpected argument'],
    ['show', 'found no file of limits in'],
    ['show --env other.env', 'there is no file other.env. Name another: --env FILE'],
    ['show --env .', '. cannot be read: EISDIR'],
    ['raise rpm -5 --until 1h', "Unknown option '-5'. See: sluice raise --help"],
    ['show --limits other.ts', 'there is no file other.ts. Name another: --limits FILE'],
    ['show --env nope', 'there is no file nope. Name another: --env FILE'],
  ]
  it.each(MISTAKES)('refuses with a remedy: sluice %s', async (args, says) => {
    const { out, err, exitCode } = await project({}).terminal(args.split(' '))
    expect({ out, exitCode }).toEqual({ out: '', exitCode: 1 })
    expect(err).toContain(`sluice: `)
    expect(err).toContain(says)
    expect(err.split('\n')).toHaveLength(1)
  })
})

describe('a file of limits', () => {
  const FILES = [
    'limits.ts',
    'src/limits.ts',
    'lib/limits.mts',
    'src/lib/limits.ts',
    'app/limits.ts',
    'server/limits.ts',
  ]
  it.each(FILES)('is found: %s', async (path) => {
    const { out } = await project({ [path]: `${MEMORY}export default of('rpm')` }).terminal([
      'show',
    ])
    expect(out).toContain(`From ${path}.`)
  })

  it.each(NODES)('may be JavaScript, on each Node.js: %s', async (node) => {
    const text = `${MEMORY}export const limiter = of('rpm')`.replace(': string', '')
    const { out } = await project({ 'limits.mjs': text }).terminal(['show'], node)
    expect(out).toContain('rpm')
  })

  it('may export several limiters, of which one is named', async () => {
    const app = project({
      'limits.ts': `${MEMORY}export const a = of('one')\nexport const b = of('two')`,
    })
    const { err } = await app.terminal(['show'])
    expect(err).toBe('sluice: limits.ts exports several limiters: a, b. Name one: --limiter a')
    expect((await app.terminal(['show', '--limiter', 'b'])).out).toContain('two')
    app.write('limits.ts', `${MEMORY}export const limiter = of('one')\nexport const b = of('two')`)
    expect((await app.terminal(['show'])).out).toContain('one')
    app.write('limits.ts', `${MEMORY}const a = of('one')\nexport const b = a\nexport default a`)
    expect((await app.terminal(['show'])).out).toContain('one')
    app.write('limits.ts', `${MEMORY}export const b = Promise.resolve(of('two'))`)
    expect((await app.terminal(['show'])).out).toContain('two')
    app.write('limits.ts', `${MEMORY}export const a = of('one')\nexport const b = of('two')`)
    expect((await app.terminal(['show', '--limiter', 'c'])).err).toContain(
      'exports no limiter "c", but a, b',
    )
  })

  it('may log: the result stays by itself', async () => {
    const text = `${MEMORY}console.log('loaded'); process.stdout.write('too\\n')\nexport const limiter = of('rpm')`
    const { out, err } = await project({ 'limits.ts': text }).terminal(['show', '--json'])
    expect(JSON.parse(out)).toMatchObject({ limits: [{ name: 'rpm' }] })
    expect(err).toContain('loaded\ntoo')
  })

  it.each(['cloudflare:workers', '$env/dynamic/private'])(
    'may have the variables of %s',
    async (from) => {
      const app = project({
        'limits.ts': `import { env } from '${from}'\n${MEMORY}export const limiter = of(env.NAME)`,
        '.env': 'NAME=from-env',
      })
      expect((await app.terminal(['show'])).out).toContain('from-env')
    },
  )

  it.each(['worker.ts', 'src/index.ts'])('may be in a Worker: %s', async (path) => {
    const text = `import { env } from 'cloudflare:workers'
      import { createLimiter, fixedWindow } from '@sluice/core'
      import { memory } from '@sluice/core/memory'
export const limiter = createLimiter({
        store: memory(),
        policies: [fixedWindow({ name: env.NAME, limit: 1, window: '1d', per: 'global' })],
      })
      export default { fetch: () => new Response() }`
    const app = project({ [path]: text, '.dev.vars': 'NAME=from-worker' })
    expect((await app.terminal(['show'])).out).toContain('from-worker')
    const other = project({ [path]: 'export default {}' })
    expect((await other.terminal(['show'])).err).toContain('and for a Worker that exports one')
  })

  it('may be for the server only', async () => {
    const app = project({
      'limits.ts': `import 'server-only'\n${MEMORY}export const limiter = of('rpm')`,
      'node_modules/server-only/package.json': '{ "main": "index.js" }',
      'node_modules/server-only/index.js': "throw new Error('Client Component')",
    })
    expect((await app.terminal(['show'])).out).toContain('rpm')
  })

  it.each([
    ['ends the process', 'process.exit(0)'],
    ['waits for nothing', 'await new Promise(() => {})'],
  ])('that %s is a failure', async (_, statement) => {
    const app = project({ 'limits.ts': `${MEMORY}${statement}\nexport const limiter = of('rpm')` })
    const { out, err, exitCode } = await app.terminal(['show'])
    expect({ out, exitCode }).toEqual({ out: '', exitCode: 1 })
    expect(err).toContain('sluice: the file of limits has ended the process before it has loaded')
  })

  const BROKEN: readonly (readonly [what: string, text: string, says: string])[] = [
    ['that throws', `throw new Error('boom')`, 'limits.ts does not load: boom'],
    ['that does not parse', 'export const = 5', 'limits.ts does not load: '],
    ['that imports what is not there', "import 'nope-nope'", 'nope-nope'],
    [
      'that needs more of its framework',
      "import '$lib/x'",
      'export a limiter over the same database',
    ],
    [
      'that exports nothing',
      'export {}',
      'exports no limiter: export const limiter = createLimiter(',
    ],
    ['that exports something else', 'export const a = 5', 'It exports a'],
    [
      'of a Worker',
      'export const limiterFor = (env) => env',
      'functions: limiterFor. A limiter that is made for each env cannot be loaded: export const limiter',
    ],
  ]
  it.each(BROKEN)('%s is refused with its reason', async (_, text, says) => {
    const { err, exitCode } = await project({ 'limits.ts': text }).terminal(['show'])
    expect(exitCode).toBe(1)
    expect(err).toContain(says)
    expect(err).not.toContain('    at ')
  })
})

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { folder, pathOf, write } from '../../replay/support.ts'
import { COMMAND } from '../project.ts'
import { runHere, type Ran } from '../run-here.ts'

const CORE = import.meta.resolve('@sluice/core')
const MEMORY = import.meta.resolve('@sluice/core/memory')

const LOG = `time,tenant,tokens\n${[0, 1, 2, 3].map((s) => `${1_772_366_400 + s},acme,10`).join('\n')}\nx`

/** Runs the command in this process. */
const run = (...args: readonly string[]): Promise<Ran> => runHere(folder, ['replay', ...args])

/** Runs Node.js with the command in a process of its own, as a terminal does. */
const terminal = (options: readonly string[], ...args: readonly string[]) =>
  spawnSync(process.execPath, [...options, COMMAND, 'replay', ...args], { encoding: 'utf8' })

/** A line of an access log. */
const accessLine = (path: string): string =>
  `192.0.2.1 - - [01/Mar/2026:12:00:00 +0000] "GET ${path} HTTP/1.1" 200 1`

/** Writes limits in TypeScript that cannot run without type stripping. */
const limits = (limit: number, text = 'limiter'): string =>
  write(
    'limits.ts',
    `import { createLimiter, slidingWindow } from '${CORE}'
import { memory } from '${MEMORY}'
const limit: number = ${limit}
export const policies = [slidingWindow({ name: 'rpm', limit, window: '1m', per: ['tenant'] })]
${text === 'limiter' ? 'export const limiter = createLimiter({ store: memory(), policies })' : ''}`,
  )

describe('sluice replay', () => {
  it('prints what the limits of a TypeScript file would have denied', () => {
    const { status, stdout, stderr } = terminal([], write('log.csv', LOG), '--limits', limits(3))
    expect(stderr).toMatch(/^replay: \d+ %$/m)
    expect(status).toBe(0)
    expect(stdout).toMatch(
      /^Left out of the log: 1 malformed line\.\n\n4 calls, 1 tenant, 40 tokens, from 2026-03-01 12:00:00 to 2026-03-01/,
    )
    expect(stdout).toMatch(/^calls denied +1$/m)
    expect(stdout).toMatch(/^rpm +request +1 +1 +2026-03-01 12:00:03/m)
    expect(stdout).toContain('Malformed, the first: line 6: ')
    expect(stdout).toContain('A denied call is not sent again')
  })

  it('fails if more lines than not cannot be read, and names the first', async () => {
    const broken = `time,tenant\n${'yesterday,acme\n'.repeat(12_031)}1772366400,acme`
    const { exitCode, out, err } = await run(write('log.csv', broken), '--limits', limits(3))
    expect(exitCode).toBe(1)
    expect(out).toBe('')
    expect(err).toContain(
      'LOG has 12,031 lines that cannot be read, and 1 call; line 2: "time" is not a time. See --format',
    )
  })

  it('draws one bar in a terminal, which grows and is erased at the end', () => {
    const calls = Array.from({ length: 20_000 }, (_, at) => `${1_772_366_400 + at},acme,10`)
    const log = write('log.csv', `time,tenant,tokens\n${calls.join('\n')}`)
    const isTerminal = ['--import', 'data:text/javascript,process.stderr.isTTY = true']
    const { stderr } = terminal(isTerminal, log, '--limits', limits(3))
    expect(stderr).not.toContain('\n')
    const [before, ...drawn] = stderr.split('\r')
    expect([before, drawn.pop()]).toEqual(['', '\u001B[K'])
    const parts = drawn.map((bar) => {
      const [, full = '', rest = '', percent] = /^replay (█*)(░*) +(\d+) %$/.exec(bar) ?? []
      expect(full.length + rest.length).toBe(30)
      expect(full).toHaveLength(Math.round((Number(percent) / 100) * 30))
      return Number(percent)
    })
    expect(parts.length).toBeGreaterThan(2)
    expect(parts).toEqual(parts.toSorted((a, b) => a - b))
    expect(parts.at(-1)).toBe(100)
  })

  it('prints JSON, writes denials, and compares two files', async () => {
    const denials = pathOf('denials.jsonl')
    const files = ['--limits', limits(3, 'policies'), '--against', limits(1)]
    const { out } = await run(write('log.csv', LOG), ...files, '--json', '--denials', denials)
    const { comparison, facts } = JSON.parse(out) as Record<string, object>
    expect(comparison).toEqual({
      bothAllow: 1,
      bothDeny: 1,
      onlyFirstDenies: 0,
      onlySecondDenies: 2,
    })
    expect(facts).toMatchObject({ malformed: { count: 1 } })
    const lines = readFileSync(denials, 'utf8').trim().split('\n')
    expect(lines).toHaveLength(4)
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      line: 3,
      policy: 'rpm',
      at: '2026-03-01T12:00:01.000Z',
    })
  })

  it('takes paths for the routes that patterns give them', async () => {
    const log = write('log', ['/api/x?a=1', '/api/y/', '/other'].map(accessLine).join('\n'))
    const { out } = await run(log, '--limits', limits(1), '--routes', '/api/:name=api', '--json')
    const { sets, facts } = JSON.parse(out) as { sets: { used: object }[]; facts: object }
    expect(sets[0]?.used).toMatchObject({ calls: 2 })
    expect(facts).toMatchObject({ unmatched: 1 })
  })

  it('loads TypeScript if Node.js does not', () => {
    const options = ['--no-experimental-strip-types']
    const { status } = terminal(options, write('log.csv', LOG), '--limits', limits(1))
    expect(status).toBe(0)
  })

  it('names tenants of --except that are not in the log', async () => {
    const args = ['--limits', limits(1), '--except', 'acme,scraper']
    const { out } = await run(write('log.csv', LOG), ...args)
    expect(out).toContain('Tenants of --except that are not in the log: scraper.')
  })

  it('does not let a log write to the terminal', async () => {
    const { out } = await run(
      write('log.csv', LOG.replaceAll('acme', '\u001B[2Jacme')),
      '--limits',
      limits(1),
    )
    expect(out).toContain('�[2Jacme')
    expect(out).not.toContain('\u001B')
  })

  it.each([
    [[], /name one log, such as: sluice replay requests.csv/],
    [['log.csv'], /found no file of limits in .* Name it: --limits FILE/],
    [['log.csv', '--limits', 'none.ts'], /there is no file none.ts. Name another: --limits FILE/],
    [
      ['log.csv', '--limits', limits(1), '--against', 'none.ts'],
      /there is no file none.ts. Name another: --against FILE/,
    ],
    [['none.csv', '--limits', limits(1)], /LOG cannot be read: ENOENT/],
    [
      ['log.csv', '--limits', write('limits.js', 'export const a = 1')],
      /limits.js must export "limiter" or "policies"; it exports a/,
    ],
    [
      ['log.csv', '--limits', write('limits.js', 'import "./none.js"')],
      /limits.js does not load: Cannot find module/,
    ],
    [
      ['log.csv', '--limits', 'l.js', '--columns', 'time'],
      /--columns time must be a list such as "time=ts/,
    ],
    [['log.csv', '--limits', 'l.js', '--tenants', 'many'], /--tenants many must be a whole number/],
    [
      ['log.csv', '--limits', 'l.js', '--ignore-status', '42'],
      /--ignore-status 42 must be a list of statuses/,
    ],
    [
      [write('log.csv', LOG), '--limits', limits(1), '--usage-period', '1'.repeat(30)],
      /--usage-period must be a text/,
    ],
    [
      [write('log.csv', LOG), '--limits', limits(1), '--denials', '/none/denials.jsonl'],
      /--denials cannot be written: ENOENT/,
    ],
    [['--unknown'], /Unknown option '--unknown'/],
  ])('says which option is wrong: %j', async (args, message) => {
    const { exitCode, err } = await run(...args)
    expect(err).toMatch(message)
    expect(err).toMatch(/^sluice: /)
    expect(exitCode).toBe(1)
  })
})

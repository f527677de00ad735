import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const main = fileURLToPath(new URL('main.ts', import.meta.url))

const run = (...args: string[]) =>
  spawnSync(process.execPath, [main, ...args], { encoding: 'utf8' })

describe('npm run world', () => {
  it.each<[mistake: string, args: string[], says: RegExp]>([
    ['a seed that is no number', ['--seed', 'x'], /^--seed must be a whole number/],
    ['a seed that is not exact', ['--seed', '99999999999999999999'], /^--seed must be a whole/],
    ['no seeds', ['--seeds', '0'], /^--seeds must be a whole number of at least 1/],
    ['no decisions', ['--decisions', '0'], /^--decisions must be a whole number of at least 1/],
    ['an unknown option', ['--sed', '7'], /^Unknown option '--sed'.*\nThe options are --seed, /],
    ['an argument', ['7'], /^Unexpected argument '7'.*\nThe options are --seed, /],
    ['a text that is no JSON', ['--replace', '{x'], /^--replace must be an object in JSON/],
    ['a list', ['--replace', '[]'], /^--replace must be an object in JSON/],
    ['an unknown part', ['--replace', '{"x":1}'], /^--replace must .* with only "seed", /],
    ['unknown stores', ['--wrappers', 'x'], /^--wrappers must be one of: plain; /],
  ])('answers %s with a sentence', (_mistake, args, says) => {
    const { status, stdout, stderr } = run(...args)
    expect(stderr).toMatch(says)
    expect(stderr).not.toContain('    at ')
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
  })

  it('lives through each seed once, on all cores', () => {
    const { status, stdout } = run('--seed', '3', '--seeds', '4', '--decisions', '20')
    const seeds = [...stdout.matchAll(/^seed (\d+): .* 0 violations$/gm)].map(([, seed]) => seed)
    expect({ status, seeds: new Set(seeds) }).toEqual({
      status: 0,
      seeds: new Set(['3', '4', '5', '6']),
    })
  })
})

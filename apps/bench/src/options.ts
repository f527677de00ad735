import { parseArgs } from 'node:util'
import type { Scenario } from './scenarios/scenario.ts'

const DEFAULT_ROUNDS = 9

export interface Options {
  readonly help: boolean
  readonly rounds: number
  /** Saves what was measured, and puts it into the docs. */
  readonly write: boolean
  /** Measures nothing, and puts what was saved into the docs. */
  readonly render: boolean
  readonly scenarios: readonly Scenario[]
}

/** Reads the command line. @throws Error When an option is unknown or has an invalid value. */
export function parseOptions(args: string[], all: readonly Scenario[]): Options {
  const { values } = parseArgs({
    args,
    options: {
      scenario: { type: 'string', multiple: true },
      rounds: { type: 'string', default: String(DEFAULT_ROUNDS) },
      write: { type: 'boolean', default: false },
      render: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  const rounds = Number(values.rounds)
  if (!Number.isInteger(rounds) || rounds < 1) throw new Error('--rounds must be an integer from 1')
  const names = values.scenario ?? all.map(({ name }) => name)
  const unknown = names.find((name) => all.every((scenario) => scenario.name !== name))
  if (unknown !== undefined) {
    const known = all.map(({ name }) => name).join(', ')
    throw new Error(`--scenario ${unknown} is unknown; pass one of ${known}`)
  }
  return {
    help: values.help,
    write: values.write,
    render: values.render,
    rounds,
    scenarios: all.filter(({ name }) => names.includes(name)),
  }
}

export const usage = (all: readonly Scenario[]): string => `Usage: npm run bench -- [options]

Measures decisions on this machine, in rounds that take every side in turn, and prints Markdown
tables of medians. Times depend on the machine; compare the ratios.

  --scenario NAME  measure only this scenario; repeatable (default: all)
  --rounds NUMBER  rounds of each (default: ${DEFAULT_ROUNDS})
  --write          save the figures, and put the tables into the docs
  --render         measure nothing; put the saved figures into the docs
  --help           print this

${all.map(({ name, title }) => `  ${name.padEnd(12)} ${title}`).join('\n')}
`

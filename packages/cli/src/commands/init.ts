import {
  accessSync,
  appendFileSync,
  constants,
  lstatSync,
  mkdirSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import type { Command } from '../command.ts'
import { textOf } from '../command.ts'
import { CommandError } from '../errors.ts'
import { planOf, type Change } from '../init/plan.ts'

export const init: Command = {
  summary: 'add limits to a project: Next.js, Workers, Hono, Express and others',
  usage: `Usage: sluice init [--framework NAME] [--yes]

Finds the framework of this folder, and shows the files that limit its routes below /api/ai, with a store and a secret
for development. A file that exists is left as it is. Without --yes, nothing is written.

  --framework NAME      nextjs, sveltekit, astro, cloudflare, durable-objects (a Worker without Redis), hono, express,
                        fastify or h3
  --yes                 write the files
`,
  options: { framework: { type: 'string' }, yes: { type: 'boolean' } },

  run(values, _, { folder }) {
    const plan = planOf(folder, textOf(values, 'framework'))
    const isMade = values['yes'] === true
    if (isMade) makeAll(folder, plan.changes)
    const { framework, others, changes, next } = plan
    return Promise.resolve({
      text: [
        `${framework}:`,
        ...(others.length > 0 ? [othersText(framework, others)] : []),
        ...changes.map((change) =>
          isMade && change.kind !== 'keep'
            ? lineOf(change)
            : `${lineOf(change)}\n${diffOf(change)}`,
        ),
        '',
        ...(isMade ? ['Next:', ...next.map((command) => `  ${command}`)] : [DRY]),
      ].join('\n'),
      json: {
        framework,
        others,
        made: isMade,
        changes: changes.map(({ path, kind }) => ({ path, kind })),
        next,
      },
    })
  },
}

/** Says how to choose another framework than the one that was taken. */
const othersText = (framework: string, others: readonly string[]): string =>
  `  package.json also names ${others.join(' and ')}. To limit that instead of ${framework}: --framework ${others.join(' or --framework ')}`

const DRY = 'Nothing is written. Add --yes to write it.'

const VERBS = { create: 'create', append: 'add to', keep: 'leave' } as const

function lineOf({ path, kind }: Change): string {
  return `  ${VERBS[kind]} ${path}${kind === 'keep' ? ', which exists: add what it lacks' : ''}`
}

/** Returns the lines that are added. A secret is not printed. */
const diffOf = ({ text, kind }: Change): string =>
  text
    .trim()
    .split('\n')
    .map((line) =>
      `    ${kind === 'keep' ? ' ' : '+'} ${line.replace(/^(JWT_SECRET=).+/, '$1(random)')}`.trimEnd(),
    )
    .join('\n')

/** Makes all changes, or, if one of them cannot be made, none. @throws CommandError */
function makeAll(folder: string, changes: readonly Change[]): void {
  const all = changes.filter(({ kind }) => kind !== 'keep')
  for (const change of all) assertWritable(folder, change)
  const made: string[] = []
  for (const change of all) {
    try {
      make(folder, change)
    } catch (error) {
      const others = made.length === 0 ? 'Nothing is written' : `Written are ${made.join(', ')}`
      throw new CommandError(
        `${change.path} cannot be written: ${(error as Error).message}. ${others}`,
      )
    }
    made.push(change.path)
  }
}

function assertWritable(folder: string, { path, kind }: Change): void {
  const file = join(folder, path)
  try {
    if (kind === 'append') {
      accessSync(file, constants.W_OK)
      if (statSync(file).isFile()) return
      throw new Error('it is no file')
    }
    if (lstatSync(file, { throwIfNoEntry: false })) throw new Error('it is a link to nothing')
    accessSync(existingFolder(dirname(file)), constants.W_OK)
  } catch (error) {
    throw new CommandError(
      `${path} cannot be written: ${(error as Error).message}. Nothing is written`,
    )
  }
}

/** Returns a folder, or the nearest above it that exists. */
function existingFolder(folder: string): string {
  const found = lstatSync(folder, { throwIfNoEntry: false })
  if (!found) return existingFolder(dirname(folder))
  if (statSync(folder).isDirectory()) return folder
  throw new Error(`${folder} is no folder`)
}

function make(folder: string, { path, kind, text, isSecret }: Change): void {
  const file = join(folder, path)
  mkdirSync(dirname(file), { recursive: true })
  // A file that has come into being meanwhile is not overwritten.
  if (kind === 'create') writeFileSync(file, text, { flag: 'wx', mode: isSecret ? 0o600 : 0o666 })
  else appendFileSync(file, text)
}

import {
  accessSync,
  appendFileSync,
  constants,
  lstatSync,
  mkdirSync,
  readdirSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { textOf, type Command } from '../command.ts'
import { refuse } from '../errors.ts'
import { planOf, type Change } from '../init/plan.ts'
import { removalOf, type Removal } from '../init/removal.ts'

export const init: Command = {
  summary: 'add limits to a project: Next.js, Workers, Hono, Express and others',
  usage: `Usage: sluice init [--framework NAME] [--remove] [--yes]

Finds the framework of this folder, and shows the files that limit its routes below /api/ai, with a store and a secret
for development. A file that exists is left as it is. Without --yes, nothing is written.

  --framework NAME      nextjs, sveltekit, astro, cloudflare, durable-objects (a Worker without Redis), hono, express,
                        fastify or h3
  --remove              take back what it has made: files that you have not changed, and the lines that it has added
  --yes                 write the files, or remove them
`,

  run(values, _, { folder }) {
    const isMade = values['yes'] === true
    if (values['remove'] === true) {
      return Promise.resolve(remove(folder, textOf(values, 'framework'), isMade))
    }
    const plan = planOf(folder, textOf(values, 'framework'))
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
        ...(isMade ? nextLines(next) : ['Nothing is written. Add --yes to write it.']),
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

function remove(folder: string, name: string | undefined, isMade: boolean) {
  const { framework, removals, next } = removalOf(folder, name)
  const changes = removals.map(({ path, kind }) => ({ path, kind }))
  if (isMade) for (const removal of removals) takeBack(folder, removal)
  const left = isMade ? nextLines(next) : ['Nothing is removed. Add --yes to remove it.']
  return {
    text: [
      `${framework}:`,
      ...changes.map(({ path, kind }) => `  ${REMOVE_VERBS[kind](path)}`),
      '',
      ...(changes.length === 0 ? ['Nothing of it is here.'] : left),
    ].join('\n'),
    json: { framework, made: isMade, changes, next },
  }
}

const REMOVE_VERBS: Readonly<Record<Removal['kind'], (path: string) => string>> = {
  delete: (path) => `remove ${path}`,
  cut: (path) => `remove its lines from ${path}`,
  keep: (path) => `leave ${path}, which you have changed`,
  guard: (path) => `leave ${path}, which keeps your variables out of the repository`,
}

const nextLines = (commands: readonly string[]): string[] => [
  'Next:',
  ...commands.map((command) => `  ${command}`),
]

/** @throws CommandError When a file cannot be changed. */
function takeBack(folder: string, { path, kind, text }: Removal): void {
  const file = join(folder, path)
  try {
    if (kind === 'cut') writeFileSync(file, text)
    if (kind !== 'delete') return
    rmSync(file)
    for (let parent = dirname(path); parent !== '.'; parent = dirname(parent)) {
      if (readdirSync(join(folder, parent)).length > 0) return
      rmdirSync(join(folder, parent))
    }
  } catch (error) {
    refuse(`${path} cannot be removed: ${(error as Error).message}`)
  }
}

/** Says how to choose another framework than the one that was taken. */
const othersText = (framework: string, others: readonly string[]): string =>
  `  package.json also names ${others.join(' and ')}. To limit that instead of ${framework}: --framework ${others.join(' or --framework ')}`

const VERBS = { create: 'create', append: 'add to', keep: 'leave' } as const

const lineOf = ({ path, kind }: Change): string =>
  `  ${VERBS[kind]} ${path}${kind === 'keep' ? ', which exists: add what it lacks' : ''}`

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
      refuse(`${change.path} cannot be written: ${(error as Error).message}. ${others}`)
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
    refuse(`${path} cannot be written: ${(error as Error).message}. Nothing is written`)
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

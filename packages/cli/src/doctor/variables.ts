/* Variables that one side reads and another one does not set. */
import { readVariables } from '../env-files.ts'
import { adapterCalls } from '../source/adapters.ts'
import { dependenciesOf } from '../source/imports.ts'
import type { ProjectSource } from '../source/project-source.ts'
import { variableReads, type VariableRead } from '../source/variables.ts'
import { findingsAmong, type Finding } from './finding.ts'

const DEVELOPMENT = [
  '.env.local',
  '.dev.vars',
  '.env.development.local',
  '.env.development',
  '.env',
]
const EXAMPLES = ['.env.example', '.env.sample', '.env.template', '.dev.vars.example']

/**
 * Returns the variables of secrets and of the store that are missing where they are needed.
 *
 * @param env The environment, with the variables of the files that a command loads.
 */
export function judgeVariables(
  source: ProjectSource,
  env: Readonly<Record<string, string | undefined>>,
): Finding[] {
  const reads = variableReads(source)
  if (reads.length === 0) return []
  return findingsAmong([
    judgeSecrets(source.folder, reads, env),
    ...judgeExample(source.folder, reads),
    judgeWorker(source, reads),
  ])
}

/** Finds secrets that nothing sets. A store without its variables is found by its first decision. */
function judgeSecrets(
  folder: string,
  reads: readonly VariableRead[],
  env: Readonly<Record<string, string | undefined>>,
): Finding | undefined {
  const files = DEVELOPMENT.flatMap((file) => {
    const variables = readVariables(folder, file)
    return variables ? [[file, variables] as const] : []
  })
  // Without a file, they come from elsewhere.
  if (files.length === 0) return undefined
  const set = Object.assign({}, env, ...files.map(([, variables]) => variables)) as typeof env
  const missing = reads.filter(
    ({ option, variable }) => option.startsWith('secret') && set[variable] === undefined,
  )
  const [first] = missing
  if (!first) return undefined
  const names = new Set(reads.map(({ variable }) => variable))
  const others = files.flatMap(([, variables]) => Object.keys(variables)).filter(isSecret(names))
  const hint = others.length > 0 ? `, which has ${others.join(', ')}` : ''
  return {
    code: 'secret_on_one_side',
    text: `${first.path} reads ${namesOf(missing)}, and nothing sets it: not the environment, and not ${files.map(([file]) => file).join(', ')}${hint}`,
    remedy: `give both sides one name: echo "${first.variable}=$(openssl rand -hex 32)" >> ${files[0]?.[0]}, and the same where it is signed`,
  }
}

const isSecret =
  (known: ReadonlySet<string>) =>
  (name: string): boolean =>
    /SECRET|JWT|SIGNING/.test(name) && !known.has(name)

const judgeExample = (folder: string, reads: readonly VariableRead[]): Finding[] =>
  EXAMPLES.flatMap((file): Finding | [] => {
    const example = readVariables(folder, file)
    const missing = example ? reads.filter(({ variable }) => !(variable in example)) : []
    const [first] = missing
    if (!first) return []
    return {
      code: 'secret_on_one_side',
      text: `${file} lacks ${namesOf(missing)}, which ${first.path} reads: who sets up the app by it has none`,
      remedy: `add the name without its value: echo "${first.variable}=" >> ${file}`,
    }
  })

/**
 * Finds what a Worker lacks in development: with a `.dev.vars`, Wrangler reads no `.env`.
 * https://developers.cloudflare.com/workers/local-development/environment-variables
 */
function judgeWorker(source: ProjectSource, reads: readonly VariableRead[]): Finding | undefined {
  const { folder } = source
  const own = readVariables(folder, '.dev.vars')
  const isWorker = adapterCalls(source).some(({ from }) => from === '@sluice/cloudflare')
  // Frameworks read `.env` by themselves.
  const packages = dependenciesOf(folder)
  if (!own || !isWorker || ['next', 'astro', '@sveltejs/kit'].some((name) => packages.has(name))) {
    return undefined
  }
  const others = { ...readVariables(folder, '.env'), ...readVariables(folder, '.env.local') }
  const missing = reads.filter(({ variable }) => variable in others && !(variable in own))
  if (missing.length === 0) return undefined
  return {
    code: 'secret_on_one_side',
    text: `.env sets ${namesOf(missing)}, and .dev.vars does not. With a .dev.vars, Wrangler reads no .env, and the Worker has none`,
    remedy: 'move all variables to one of the two files',
  }
}

const namesOf = (reads: readonly VariableRead[]): string =>
  [...new Set(reads.map(({ variable }) => variable))].join(', ')

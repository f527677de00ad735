/* Calls of the store that are sent again. */
import { callsOfSluice } from '../source/adapters.ts'
import { propertyOf, valueOf } from '../source/literal.ts'
import {
  nameOf,
  nodes,
  nodesIn,
  type Binding,
  type Node,
  type SourceModule,
} from '../source/module.ts'
import { modulesWith, type ProjectSource } from '../source/project-source.ts'
import type { Finding } from './finding.ts'

/** Packages that repeat a POST. `ky`, `got` and `ofetch` repeat none by default. */
const RETRIES =
  /^(?:fetch-retry|@vercel\/fetch-retry|p-retry|async-retry|exponential-backoff|retry)$/

/**
 * Returns the stores whose `fetch` sends a call again: a call whose reply was lost may have charged. Clients of Redis are
 * not looked at: redis() refuses one that repeats commands, and upstashRedis() turns its client's retries off.
 */
export function judgeRetries(source: ProjectSource): Finding[] {
  const modules = modulesWith(source, (text) => text.includes('@sluice/core/upstash'))
  return modules.flatMap((module): Finding | [] => {
    const retry = retryIn(module)
    if (!retry) return []
    return {
      code: 'client_retries',
      text: `${module.path} gives upstash() a fetch that sends calls again (${retry.from}): after a lost reply, a request is charged twice`,
      remedy:
        'remove the retries: a call that fails is decided by onStoreError, docs/failure-modes.md',
    }
  })
}

function retryIn(module: SourceModule): Binding | undefined {
  for (const option of fetchOptions(module)) {
    const { module: home, node } = valueOf(module, option)
    for (const item of nodesIn(node)) {
      const binding = item.type === 'Identifier' ? home.imports.get(nameOf(item)) : undefined
      if (binding && RETRIES.test(binding.from)) return binding
    }
  }
  return undefined
}

const fetchOptions = (module: SourceModule): Node[] =>
  callsOfSluice(module).flatMap(({ node, name }) => {
    const [options] = name === 'upstash' ? nodes(node['arguments']) : []
    return (options && propertyOf(options, 'fetch').node) ?? []
  })

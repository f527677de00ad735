/* The Lua programs of Sluice's packages, and the Lua that they must have between them. */
import {
  concurrency,
  leakyBucket,
  monthlyCap,
  sessionWindow,
  slidingWindow,
  slidingWindowCounter,
  slidingWindows,
  tokenBucket,
} from '@sluice/core'
import { calendar } from '@sluice/core/calendars'
import { fairShare } from '@sluice/core/fair-share'
import { waitingLine } from '@sluice/core/waiting'
import { globSync, readFileSync } from 'node:fs'
import { parseSync } from 'oxc-parser'
import { batchScript } from '../../../packages/core/dist/stores/redis/batch-script.js'
import { compareLists, hasMoved } from '../../../packages/core/dist/shards/shard-record.js'
import { decidingScript } from '../../../packages/core/dist/lua/program.js'
import { lineOperations } from '../../../packages/core/dist/waiting/stand.js'
import { rulesOf } from '../../support/store-request.ts'

const root = new URL('../../..', import.meta.url)

const limit = { limit: 10, window: '1m', per: 'global' } as const
const rules = rulesOf(
  slidingWindow({ name: 'sliding', ...limit }),
  slidingWindowCounter({ name: 'counter', ...limit }),
  slidingWindows({
    name: 'log',
    per: 'global',
    windows: { minute: { limit: 10, window: '1m' }, hour: { limit: 100, window: '1h' } },
  }),
  monthlyCap({ name: 'month', limit: 10, per: 'global' }),
  tokenBucket({ name: 'bucket', ...limit }),
  leakyBucket({ name: 'queue', ...limit, burst: 5, wait: '5s' }),
  sessionWindow({ name: 'session', limit: 10, idle: '1m', per: 'global' }),
  monthlyCap({ name: 'billing', limit: 10, per: 'global', resets: calendar({ on: { day: 15 } }) }),
  concurrency({ name: 'calls', limit: 10, per: 'global', maxDuration: '1m' }),
  fairShare(slidingWindow({ name: 'fair', ...limit }), { between: ['tenant'] }),
  waitingLine(slidingWindow({ name: 'lined', ...limit })),
)

/** The built modules that have Lua, but for those that are given to somebody else's store. */
const modules = globSync('packages/{core,queue,usage}/dist/**/*.js', { cwd: root })
  .filter((path) => !path.includes('/testing/'))
  .map((path) => ({ path, text: readFileSync(new URL(path, root), 'utf8') }))
  .filter(({ text }) => /\blua\b|Kind\(/.test(text))

/** All that these modules export and that has Lua: operations, marks and fits. */
async function exportedKinds(): Promise<Kind[]> {
  const all = await Promise.all(
    modules.map(({ path }) => import(new URL(path, root).href) as Promise<object>),
  )
  const values = all.flatMap((exported) => Object.values(exported) as Partial<Kind>[])
  return values.filter((value): value is Kind => typeof value?.lua === 'object')
}

interface Kind {
  readonly name: string
  readonly lua: { readonly script?: (data: object) => string; readonly [part: string]: unknown }
}

/** Returns every program: each policy's, with each mark and fit; and each operation's, for each policy. */
export async function allPrograms(): Promise<readonly string[]> {
  const lists = compareLists({ shardBy: 'tenant', list: 'a', before: '' }, true, 0, 0)
  const ofShards = [lists, hasMoved([], 0)].map(({ kind }) => kind)
  const kinds = [...(await exportedKinds()), ...ofShards, ...lineOperations] as Kind[]
  const programs = rules.flatMap((policy) => {
    const decide = (joined: object): string => decidingScript({ policies: [policy], ...joined })
    // Before a limit with numbers of its own there is no line.
    const operations = kinds.filter(({ name }) => name !== 'line.stand' || !policy.numbers)
    const data = { policies: [policy], slots: [{ policy }], limit: { policy } }
    const marks = kinds.filter(({ lua }) => lua['write']).map((kind) => decide({ mark: { kind } }))
    const fits = kinds.filter(({ lua }) => lua['grant']).map((kind) => decide({ fit: { kind } }))
    const others = operations.flatMap(({ lua }) => lua.script?.(data) ?? [])
    return [[decide({}), batchScript(decide({}))], marks, fits, others].flat()
  })
  return [...new Set(programs)]
}

/** Returns the commands in the Lua of all modules, as far as they are written there. */
export function commandsInModules(): readonly string[] {
  const texts: string[] = []
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    const { type, value } = node as { type?: string; value?: unknown }
    if (type === 'TemplateElement') texts.push((value as { cooked: string }).cooked)
    if (type === 'Literal' && typeof value === 'string') texts.push(value)
    for (const child of Object.values(node)) visit(child)
  }
  for (const { path, text } of modules) visit(parseSync(path, text).program)
  const lines = texts.flatMap((text) => text.split('\n'))
  const calls = lines.filter((line) => /\b(redis|server)\.p?call\(/.test(line))
  // A variable that outlives its fragment has another name in the program.
  return calls.flatMap((line) => line.split(/\$\w+/)).map((part) => part.trim())
}

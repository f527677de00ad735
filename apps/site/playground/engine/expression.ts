import { budget, usd } from '@sluice/ai'
import {
  concurrency,
  dailyCap,
  fixedWindow,
  leakyBucket,
  monthlyCap,
  sessionWindow,
  slidingWindow,
  slidingWindowCounter,
  tokenBucket,
} from '@sluice/core'
import { credits } from '@sluice/core/credits'
import { fairShare } from '@sluice/core/fair-share'
import { memory } from '@sluice/core/memory'

/** The functions that a scenario calls, with the entry that exports each. */
const FUNCTIONS = {
  slidingWindow: ['@sluice/core', slidingWindow],
  slidingWindowCounter: ['@sluice/core', slidingWindowCounter],
  fixedWindow: ['@sluice/core', fixedWindow],
  tokenBucket: ['@sluice/core', tokenBucket],
  leakyBucket: ['@sluice/core', leakyBucket],
  sessionWindow: ['@sluice/core', sessionWindow],
  dailyCap: ['@sluice/core', dailyCap],
  monthlyCap: ['@sluice/core', monthlyCap],
  concurrency: ['@sluice/core', concurrency],
  fairShare: ['@sluice/core/fair-share', fairShare],
  credits: ['@sluice/core/credits', credits],
  budget: ['@sluice/ai', budget],
  usd: ['@sluice/ai', usd],
  memory: ['@sluice/core/memory', memory],
} as const satisfies Record<string, readonly [entry: string, run: unknown]>

export type FunctionName = keyof typeof FUNCTIONS

/** A call of one of `FUNCTIONS`. It runs and is printed from the same data, so the code that is shown is what runs. */
export interface Expression {
  readonly calls: FunctionName
  readonly given: readonly Value[]
}

export type Value =
  | string
  | number
  | boolean
  | undefined
  | Expression
  | readonly Value[]
  | { readonly [name: string]: Value }

export const call = (calls: FunctionName, ...given: readonly Value[]): Expression => ({
  calls,
  given,
})

const isList = (value: Value): value is readonly Value[] => Array.isArray(value)
const isCall = (value: Value): value is Expression =>
  typeof value === 'object' && !isList(value) && 'calls' in value

/** Runs a value: the calls in it are made, the innermost first. */
export function evaluate(value: Value): unknown {
  if (typeof value !== 'object') return value
  if (isList(value)) return value.map(evaluate)
  if (isCall(value)) {
    const run = FUNCTIONS[value.calls][1] as (...given: unknown[]) => unknown
    return run(...value.given.map(evaluate))
  }
  return Object.fromEntries(present(value).map(([name, part]) => [name, evaluate(part)]))
}

/** Adds the imports that a value needs: the names, by entry. */
export function collectImports(value: Value, imports: Map<string, Set<string>>): void {
  if (typeof value !== 'object') return
  if (isCall(value)) {
    const [entry] = FUNCTIONS[value.calls]
    imports.set(entry, (imports.get(entry) ?? new Set<string>()).add(value.calls))
  }
  for (const part of isCall(value) ? value.given : Object.values(value)) {
    collectImports(part, imports)
  }
}

const WIDTH = 76

/** Prints a value as code, in one line if it fits. */
export function print(value: Value, indent = ''): string {
  const line = inline(value)
  if (typeof value !== 'object' || indent.length + line.length <= WIDTH) return line
  const inner = `${indent}  `
  const lined = (open: string, parts: readonly string[], close: string): string =>
    `${open}\n${parts.map((part) => `${inner}${part},\n`).join('')}${indent}${close}`
  if (isList(value))
    return lined(
      '[',
      value.map((part) => print(part, inner)),
      ']',
    )
  if (!isCall(value)) {
    return lined(
      '{',
      present(value).map(([name, part]) => `${name}: ${print(part, inner)}`),
      '}',
    )
  }
  const [only, ...others] = value.given
  if (others.length === 0) return `${value.calls}(${print(only, indent)})`
  return lined(
    `${value.calls}(`,
    value.given.map((part) => print(part, inner)),
    ')',
  )
}

function inline(value: Value): string {
  if (typeof value === 'string') return `'${value.replaceAll(/['\\]/g, String.raw`\$&`)}'`
  if (typeof value === 'number') return withUnderscores(value)
  if (typeof value !== 'object') return String(value)
  if (isList(value)) return `[${value.map(inline).join(', ')}]`
  if (isCall(value)) return `${value.calls}(${value.given.map(inline).join(', ')})`
  return `{ ${present(value)
    .map(([name, part]) => `${name}: ${inline(part)}`)
    .join(', ')} }`
}

const withUnderscores = (value: number): string =>
  Number.isInteger(value) && value >= 1_000
    ? value.toLocaleString('en-US').replaceAll(',', '_')
    : String(value)

const present = (value: { readonly [name: string]: Value }): [string, Value][] =>
  Object.entries(value).filter(([, part]) => part !== undefined)

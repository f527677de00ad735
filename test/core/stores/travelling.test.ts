import type { Operation, OperationKind, Store, StoreRequest } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { storeConformance } from '@sluice/core/testing'
import { describe, expect, it } from 'vitest'

type Rule = StoreRequest['policies'][number]
type Mark = NonNullable<StoreRequest['mark']>
type Fit = NonNullable<StoreRequest['fit']>

/** The parts that another process has, by name: all that does not travel. */
const algorithms = new Map<string, Rule['algorithm']>()
const kinds = new Map<string, Mark['kind'] | Fit['kind'] | OperationKind<unknown>>()

/** Names a kind, which the other process knows. */
function nameOf(kind: Mark['kind'] | Fit['kind'] | OperationKind<unknown>): string {
  kinds.set(kind.name, kind)
  return kind.name
}

/** Changes every object in a value, the innermost first. */
function changeAll(value: unknown, change: (part: object) => object): unknown {
  if (Array.isArray(value)) return value.map((part) => changeAll(part, change))
  if (value === null || typeof value !== 'object') return value
  const parts = Object.entries(value).map(([key, part]) =>
    key === 'algorithm' ? [key, part] : [key, changeAll(part, change)],
  )
  return change(Object.fromEntries(parts))
}

/** The part of a rule that a store needs. Its limit, which may be a function, is resolved in the entries. */
function nameAlgorithm(part: object): object {
  if (!('algorithm' in part) || typeof part.algorithm === 'string') return part
  const { name, unit, params, keyspace, algorithm } = part as Rule
  algorithms.set(algorithm.id, algorithm)
  return { name, unit, params, keyspace, algorithm: algorithm.id }
}

function findAlgorithm(part: object): object {
  if (!('algorithm' in part) || typeof part.algorithm !== 'string') return part
  return { ...part, algorithm: algorithms.get(part.algorithm) }
}

/** Returns what arrives elsewhere: a copy of plain data, which no function survives. */
function send<Data>(data: Data): Data {
  return changeAll(structuredClone(changeAll(data, nameAlgorithm)), findAlgorithm) as Data
}

/** A store that could be in another process. */
function travelling(): Store {
  const there = memory()
  return {
    async check({ mark, fit, ...plain }) {
      const request = send(plain)
      const markThere = mark && {
        ...send({ keys: mark.keys, data: mark.data }),
        kind: kinds.get(nameOf(mark.kind)) as Mark['kind'],
      }
      const fitThere = fit && {
        ...send({ floor: fit.floor, most: fit.most, data: fit.data }),
        kind: kinds.get(nameOf(fit.kind)) as Fit['kind'],
      }
      return structuredClone(await there.check({ ...request, mark: markThere, fit: fitThere }))
    },
    async run<Result>({ kind, keys, data, startedAt }: Operation<Result>) {
      const kindThere = kinds.get(nameOf(kind)) as OperationKind<Result>
      const operation = { ...send({ keys, data, startedAt }), kind: kindThere }
      return structuredClone(await there.run(operation))
    },
    reset: (keys) => there.reset(structuredClone(keys)),
  }
}

describe('a store to which only copies of plain data travel', () => {
  storeConformance({ describe, it, makeStore: travelling })

  it('gets every kind of mark, fit and operation of the suite', () => {
    const names = ['find due', 'keep', 'range', 'release', 'settle', 'write']
    expect([...kinds.keys()].toSorted()).toEqual(names)
  })
})

/* The operations on the state of a queue, for every store that runs operations. */
import type { LuaOperation, LuaOperationKind, LuaTwin, StateMap } from '@sluice/core'
import { addScript, editScript, lookScript, turnScript } from './lua.ts'
import { QueueModel } from './model.ts'
import type {
  Added,
  AddRequest,
  ClaimedJob,
  EditRequest,
  Look,
  LookRequest,
  QueueRequest,
  Result as JobResult,
  Taken,
  Turn,
  TurnRequest,
  UnsettledJob,
} from './requests.ts'
import { deadEntry } from './requests.ts'

/** The keys of a queue, in the order of the scripts. */
const keysOf = (name: string): readonly string[] =>
  ['meta', 'order', 'waiting', 'timers', 'payloads', 'states', 'dead'].map(
    (part) => `queue:${name}:${part}`,
  )

function modelOf(states: StateMap, [key = '']: readonly string[], now: number): QueueModel {
  const known = states.get(key, now)
  if (known instanceof QueueModel) return known
  const model = new QueueModel()
  states.set(key, { state: model, expiresAt: Infinity })
  return model
}

/** Creates a kind of operation from its twins. */
function kindOf<Outcome, Data extends QueueRequest>(
  name: string,
  run: (model: QueueModel, data: Data) => Outcome,
  script: () => string,
  listArgs: (data: Data) => readonly (string | number)[],
  parse: LuaTwin<Outcome, Data>['parse'],
): LuaOperationKind<Outcome, Data> {
  return {
    name: `queue.${name}`,
    run: (states, { keys, data }) => run(modelOf(states, keys, data.now), data),
    lua: {
      script,
      args: (data) => {
        const clock = data.clockIsInjected ? 'injected' : 'own'
        return [data.now, clock, ...listArgs(data)].map(String)
      },
      parse,
    },
  }
}

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((part) => typeof part === 'string')

/** Adds jobs. Its result tells what became of each. */
export const ADD: LuaOperationKind<Added[], AddRequest> = /* @__PURE__ */ kindOf(
  'add',
  (model, data) => model.add(data),
  addScript,
  ({ jobs, maxJobs }) => [
    maxJobs,
    ...jobs.flatMap(({ id, flow, length, priority, delayMs, waitMs, payload }) => [
      id,
      flow,
      length,
      priority,
      delayMs,
      waitMs,
      payload,
    ]),
  ],
  (reply, { jobs }) =>
    isTexts(reply) && reply.length === jobs.length ? { result: reply as Added[] } : undefined,
)

/** Takes results, and claims jobs. */
export const TURN: LuaOperationKind<Turn, TurnRequest> = /* @__PURE__ */ kindOf(
  'turn',
  (model, data) => model.turn(data),
  turnScript,
  ({ most, leaseMs, maxAttempts, keepDeadMs, results }) => [
    most,
    leaseMs,
    maxAttempts,
    keepDeadMs,
    ...results.flatMap((result) => [result.kind, result.id, result.claim, ...argsOfResult(result)]),
  ],
  (reply, { results }) => {
    if (!Array.isArray(reply) || reply.length !== 6) return undefined
    const [now, nextAt, taken, parts, toSettle, died] = reply as unknown[]
    const isTurn =
      typeof now === 'number' &&
      typeof nextAt === 'number' &&
      isTexts(taken) &&
      taken.length === results.length &&
      Array.isArray(parts) &&
      Array.isArray(toSettle) &&
      isTexts(died)
    if (!isTurn) return undefined
    const claimed = inGroups(parts, 7).map(
      ([id, flow, claim, attempt, lostFrom, held, payload]): ClaimedJob => ({
        id: String(id),
        flow: String(flow),
        claim: Number(claim),
        attempt: Number(attempt),
        lostFrom: Number(lostFrom),
        held: String(held),
        payload: String(payload),
      }),
    )
    const unsettled = inGroups(toSettle, 3).map(([id, claim, settlement]): UnsettledJob => ({
      id: String(id),
      claim: Number(claim),
      settlement: String(settlement),
    }))
    const until = nextAt < 0 ? Infinity : nextAt
    return { result: { now, nextAt: until, taken: taken as Taken[], claimed, unsettled, died } }
  },
)

function argsOfResult(result: JobResult): readonly (string | number)[] {
  if (result.kind === 'failed') {
    return [result.delayMs, result.isFinal ? 1 : 0, result.held, result.error]
  }
  if (result.kind === 'back') {
    return [result.delayMs, result.isClean ? 1 : 0, result.held, result.who]
  }
  return ['', '', '', result.kind === 'done' ? result.settlement : '']
}

type LookReply = [number, number, number, number, string, []]

/** Counts, and lists the dead. */
export const LOOK: LuaOperationKind<Look, LookRequest> = /* @__PURE__ */ kindOf(
  'look',
  (model, data) => model.look(data),
  lookScript,
  // To the last one would be all of them.
  ({ from, count }) => (count === 0 ? [1, 0] : [from, from + count - 1]),
  (reply) => {
    if (!Array.isArray(reply) || reply.length !== 6) return undefined
    const [waiting, delayed, running, dead, oldest, parts] = reply as LookReply
    const entries = inGroups(parts, 5).map(([id, diedAt, attempts, rest, payload]) =>
      deadEntry(String(id), Number(diedAt), Number(attempts), String(rest), String(payload)),
    )
    return { result: { waiting, delayed, running, dead, oldest, entries } }
  },
)

/** Removes jobs that do not run, or has dead ones wait again. Its result is their number. */
export const EDIT: LuaOperationKind<number, EditRequest> = /* @__PURE__ */ kindOf(
  'edit',
  (model, data) => model.edit(data),
  editScript,
  ({ kind, ids }) => [kind, ...ids],
  (reply) => (typeof reply === 'number' ? { result: reply } : undefined),
)

function inGroups(parts: readonly unknown[], size: number): unknown[][] {
  return Array.from({ length: parts.length / size }, (_, at) =>
    parts.slice(at * size, (at + 1) * size),
  )
}

/** Creates an operation on the queue of this name. */
export const operationOf = <Result, Data>(
  kind: LuaOperationKind<Result, Data>,
  name: string,
  data: Data,
): LuaOperation<Result, Data> => ({ kind, keys: keysOf(name), data, startedAt: Date.now() })

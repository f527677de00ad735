/* One folder of counts, which all limiters of this process share. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { SluiceError, StoreError } from '../errors.ts'
import { kindsOf, UnknownKind } from '../journal/kinds.ts'
import { PlaceStates, type Answer, type StateRow } from '../journal/place-states.ts'
import {
  checkMessage,
  parseMessage,
  resetMessage,
  runMessage,
  type PlaceCall,
} from '../journal/message.ts'
import type { OperationKind } from '../stores/store.ts'
import { FileJournal } from './file-journal.ts'
import { codeOf, lock, unlock } from './lock.ts'

/** Puts states under their keys: what a call has changed that a later process cannot make again. */
const PUT: OperationKind<void, { readonly rows: readonly StateRow[] }> = {
  name: 'put',
  run(states, { data }) {
    for (const [key, state, expiresAt] of data.rows) {
      states.set(key, { state, expiresAt: expiresAt ?? Infinity })
    }
  },
}

/** Sluice's own functions, which a later process knows by name. */
const KINDS = kindsOf({ operations: [PUT] })

interface Opened {
  readonly states: PlaceStates
  readonly journal: FileJournal
}

export class Folder {
  readonly path: string
  readonly #lock: string
  #opened: Opened | undefined

  constructor(path: string) {
    this.path = path
    this.#lock = join(path, 'lock')
  }

  /** Answers a call once its changes are written. @throws StoreError */
  async call(call: PlaceCall): Promise<Answer> {
    const opened = (this.#opened ??= this.#open())
    let hasChanged = false
    try {
      const answer = opened.states.call(call, () => {
        hasChanged = true
        return messageOf(call) ?? putMessage(opened.states, call)
      })
      if (hasChanged) await opened.journal.saved()
      return answer
    } catch (error) {
      if (!hasChanged) throw error
      // The counts in memory are ahead of the file: the next call reads that.
      if (this.#opened === opened) this.close()
      throw this.#failureOf(error)
    }
  }

  /** Lets another process have the folder. */
  close(): void {
    if (this.#opened) unlock(this.#lock)
    this.#opened = undefined
  }

  #open(): Opened {
    try {
      mkdirSync(this.path, { recursive: true, mode: 0o700 })
      lock(this.#lock)
      const journal = new FileJournal(join(this.path, 'counts.jsonl'))
      return { journal, states: new PlaceStates(journal, KINDS) }
    } catch (error) {
      if (!(error instanceof StoreError)) unlock(this.#lock)
      throw this.#failureOf(error)
    }
  }

  #failureOf(error: unknown): unknown {
    if (error instanceof SluiceError) return error
    const code = codeOf(error)
    if (code !== undefined) {
      const message = `The folder ${this.path} cannot be written (${code}); free its disk, or let this process write there`
      return new StoreError('store_refused', message)
    }
    const message = `counts.jsonl in ${this.path} is no file of this store; delete it to count anew`
    return new StoreError('store_bad_reply', message)
  }
}

/** Returns a call as text, if a later process can make it again: one with functions of your own is stored by its changes. */
function messageOf(call: PlaceCall): string | undefined {
  if ('reset' in call) return resetMessage(call.reset)
  try {
    const text = 'check' in call ? checkMessage(call.check) : runMessage(call.run)
    assertKnown(call, text)
    return text
  } catch (error) {
    if (error instanceof UnknownKind || error instanceof TypeError) return undefined
    throw error
  }
}

/** @throws UnknownKind When a later process would not find a function of a call by its name. */
function assertKnown(call: PlaceCall, text: string): void {
  if (!('check' in call) || call.check.mark || call.check.fit) {
    parseMessage(text, KINDS)
    return
  }
  // Most calls are such decisions, which are not parsed for this: that would be a third more work.
  for (const { policy } of call.check.entries) KINDS.algorithm(policy.algorithm.id)
}

/** @throws StoreError When a state cannot be kept. */
function putMessage({ states }: PlaceStates, call: PlaceCall): string {
  const rows = keysOf(call).flatMap((key): StateRow[] => {
    const stored = states.get(key)
    if (!stored) return []
    assertKept(call, key, stored.state)
    return [[key, stored.state, stored.expiresAt]]
  })
  const kind = PUT as OperationKind<unknown>
  return runMessage({ kind, keys: [], data: { rows }, startedAt: 0 })
}

/** @throws StoreError When a file would lose a part of an algorithm's state. */
function assertKept(call: PlaceCall, key: string, state: unknown): void {
  const entry = 'check' in call && call.check.entries.find((one) => one.key === key)
  const lost = entry && lostIn(state)
  if (!entry || lost === undefined) return
  const message = `A state of the algorithm "${entry.policy.algorithm.id}" has a ${lost}, which a file cannot keep; use finite numbers, texts, arrays, plain objects and Maps`
  throw new StoreError('store_refused', message)
}

/** Returns the kind of the first part of a value that a text cannot keep. */
function lostIn(value: unknown): string | undefined {
  if (typeof value === 'bigint' || typeof value === 'function') return typeof value
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value)
  if (typeof value !== 'object' || value === null) return undefined
  const { name } = (value.constructor ?? Object) as { readonly name: string }
  if (!['Array', 'Map', 'Object'].includes(name)) return name
  const parts: unknown[] = value instanceof Map ? [...value].flat() : Object.values(value)
  return parts.map(lostIn).find((lost) => lost !== undefined)
}

/** Returns the keys that a call may have changed. */
function keysOf(call: PlaceCall): readonly string[] {
  if ('run' in call) return call.run.keys
  if ('reset' in call) return call.reset
  const { entries, mark } = call.check
  return [...entries.map(({ key }) => key), ...(mark?.keys ?? [])]
}

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
    const answer = opened.states.call(call, () => {
      hasChanged = true
      return messageOf(call) ?? putMessage(opened.states, keysOf(call))
    })
    if (!hasChanged) return answer
    try {
      await opened.journal.saved()
      return answer
    } catch (error) {
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

function putMessage({ states }: PlaceStates, keys: readonly string[]): string {
  const rows = keys.flatMap((key): StateRow[] => {
    const stored = states.get(key)
    return stored ? [[key, stored.state, stored.expiresAt]] : []
  })
  const kind = PUT as OperationKind<unknown>
  return runMessage({ kind, keys: [], data: { rows }, startedAt: 0 })
}

/** Returns the keys that a call may have changed. */
function keysOf(call: PlaceCall): readonly string[] {
  if ('run' in call) return call.run.keys
  if ('reset' in call) return call.reset
  const { entries, mark } = call.check
  return [...entries.map(({ key }) => key), ...(mark?.keys ?? [])]
}

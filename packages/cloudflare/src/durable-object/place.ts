/* One object: what it decides itself, and what another one, home, counts for all objects. */
import {
  StoreError,
  type Operation,
  type Store,
  type StoreReply,
  type StoreRequest,
} from '@sluice/core'
import {
  checkMessage,
  parseMessage,
  runMessage,
  UnknownKind,
  type Answer,
  type Kinds,
  type PlaceCall,
  type PlaceStates,
} from '@sluice/core/internal/journal'
import { HOME, type HomeUnits, type OwnPlace, type Settling } from '@sluice/core/internal/places'
import { MAX_CALL } from './object-journal.ts'
import { objectsBy, parseName } from './names.ts'

/** The part of an object that serves policies which home counts. The class of the object names it. */
export interface Leases {
  create(home: Store, own: OwnPlace): HomeUnits
}

/** The part of an object that decides over alternatives. The class of the object names it. */
export interface PlaceChoices {
  decide(request: StoreRequest, kinds: Kinds, decide: (one: StoreRequest) => Answer): Answer
}

/** The parts of an object. */
export interface PlaceParts {
  /** The name of the object. */
  readonly name: string
  readonly states: PlaceStates
  readonly kinds: Kinds
  readonly leases: Leases | undefined
  readonly choices?: PlaceChoices | undefined
  /** Returns the store in home. */
  readonly home: () => Store
}

export class Place implements OwnPlace {
  readonly #parts: PlaceParts
  readonly isAtHome: OwnPlace['isAtHome']
  #units: HomeUnits | undefined

  constructor(parts: PlaceParts) {
    this.#parts = parts
    const { place, shardBy } = parseName(parts.name)
    const places = shardBy === undefined ? undefined : objectsBy(shardBy)
    this.isAtHome = ({ key }) => place !== HOME && places?.ofKey(key) === HOME
  }

  /** Does what the text of a message asks for. A promise only if home is asked. */
  call(text: string): Answer | Promise<Answer> {
    if (text.length > MAX_CALL) return { refusal: 'takes no call that large' }
    const { states, kinds, choices } = this.#parts
    let call: PlaceCall
    try {
      call = parseMessage(text, kinds)
    } catch (error) {
      if (!(error instanceof UnknownKind)) throw error
      return {
        refusal: `does not know the ${error.message}; name it in "own" of its class, or deploy the class anew`,
      }
    }
    if ('check' in call && call.check.entries.some(this.isAtHome)) {
      const { check } = call
      return this.#withUnits(async (units) => ({ reply: await units.decide(check) }))
    }
    if ('run' in call && call.run.kind.settles) {
      const settling = call.run as unknown as Settling
      if (this.#units || settling.data.corrections.some(this.isAtHome)) {
        return this.#withUnits(async (units) => ({ result: await units.settle(settling) }))
      }
    }
    if (choices && 'check' in call && call.check.alternatives) {
      return choices.decide(call.check, kinds, (check) =>
        states.call({ check }, () => checkMessage(check)),
      )
    }
    return states.call(call, () => text)
  }

  decide(request: StoreRequest): StoreReply {
    const answer = this.#parts.states.call({ check: request }, () => checkMessage(request))
    if ('reply' in answer) return answer.reply
    throw refusalOf(answer)
  }

  peek(request: StoreRequest): StoreReply {
    return this.decide(request)
  }

  run(operation: Operation<unknown>): unknown {
    const answer = this.#parts.states.call({ run: operation }, () => runMessage(operation))
    if ('result' in answer) return answer.result
    throw refusalOf(answer)
  }

  async #withUnits(work: (units: HomeUnits) => Promise<Answer>): Promise<Answer> {
    const { leases, home } = this.#parts
    if (!this.#units && !leases) {
      return { refusal: 'holds no leases; set "own" of its class to { leases: objectLeases }' }
    }
    try {
      this.#units ??= leases?.create(home(), this) as HomeUnits
      return await work(this.#units)
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      return { failure: { code: error.code, message: error.reason } }
    }
  }
}

/** Returns the error to throw for an answer without a result. */
export const refusalOf = (answer: Answer): StoreError =>
  'refusal' in answer
    ? new StoreError('store_refused', `The Durable Object ${answer.refusal}`)
    : new StoreError('store_bad_reply', 'The Durable Object sent an invalid reply')

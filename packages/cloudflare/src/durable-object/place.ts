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
  HOME,
  parseMessage,
  runMessage,
  UnknownKind,
  type Answer,
  type Kinds,
  type Limits,
  type OwnPlace,
  type PlaceCall,
  type Settling,
  type Tiers,
} from '@sluice/core/internal/places'
import { MAX_CHARACTERS } from './journal.ts'
import { objectsBy, parseName } from './names.ts'

/** The part of an object that serves policies which home counts. The class of the object names it. */
export interface Leases {
  create(home: Store, own: OwnPlace): Tiers
}

/** The parts of an object. */
export interface PlaceParts {
  /** The name of the object. */
  readonly name: string
  readonly limits: Limits
  readonly kinds: Kinds
  readonly leases: Leases | undefined
  /** Returns the store in home. */
  readonly home: () => Store
}

export class Place implements OwnPlace {
  readonly #parts: PlaceParts
  readonly isAway: (key: string) => boolean
  #tiers: Tiers | undefined

  constructor(parts: PlaceParts) {
    this.#parts = parts
    const { place, shardBy } = parseName(parts.name)
    const places = shardBy === undefined ? undefined : objectsBy(shardBy)
    this.isAway = (key) => place !== HOME && places?.ofKey(key) === HOME
  }

  /** Does what the text of a message asks for. A promise only if home is asked. */
  call(text: string): Answer | Promise<Answer> {
    if (text.length > MAX_CHARACTERS) return { refusal: 'takes no call that large' }
    const { limits, kinds } = this.#parts
    let call: PlaceCall
    try {
      call = parseMessage(text, kinds)
    } catch (error) {
      if (!(error instanceof UnknownKind)) throw error
      return {
        refusal: `does not know the ${error.message}; name it in "own" of its class, or deploy the class anew`,
      }
    }
    if ('check' in call && call.check.entries.some(({ key }) => this.isAway(key))) {
      return this.#withHome(
        async (tiers, { check }) => ({ reply: await tiers.decide(check) }),
        call,
      )
    }
    if ('run' in call && call.run.kind.settles) {
      const settling = call.run as unknown as Settling
      if (this.#tiers || settling.data.corrections.some(({ key }) => this.isAway(key))) {
        return this.#withHome(async (tiers) => ({ result: await tiers.settle(settling) }), call)
      }
    }
    return limits.call(call, () => text)
  }

  decide(request: StoreRequest): StoreReply {
    const answer = this.#parts.limits.call({ check: request }, () => checkMessage(request))
    if ('reply' in answer) return answer.reply
    throw refusalOf(answer)
  }

  peek(request: StoreRequest): StoreReply {
    return this.decide(request)
  }

  run(operation: Operation<unknown>): unknown {
    const answer = this.#parts.limits.call({ run: operation }, () => runMessage(operation))
    if ('result' in answer) return answer.result
    throw refusalOf(answer)
  }

  async #withHome<Call extends PlaceCall>(
    work: (tiers: Tiers, call: Call) => Promise<Answer>,
    call: Call,
  ): Promise<Answer> {
    const { leases, home } = this.#parts
    if (!this.#tiers && !leases) {
      return { refusal: 'holds no leases; set "own" of its class to { leases: objectLeases }' }
    }
    try {
      this.#tiers ??= leases?.create(home(), this) as Tiers
      return await work(this.#tiers, call)
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

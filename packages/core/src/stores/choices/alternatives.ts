/* The decision over alternatives as stores make it: two twins that must agree. */
import type { LuaOperationKind } from '../../lua/twins.ts'
import {
  alternativesOf,
  type AlternativesKind,
  type StoreReply,
  type StoreRequest,
} from '../store.ts'
import { invalidOption } from '../../internal/validation.ts'
import { parseCheckReply, scriptName } from '../../lua/call.ts'
import { joinCalls, type JoinedCalls } from '../../lua/joined-calls.ts'
import { decidingScript } from '../../lua/program.ts'
import { decideOn, type CountedStates } from '../decide-on.ts'
import { isLeased } from '../placed/places-by.ts'
import { choosingScript, WINS } from './script.ts'
import { Tries, type ChoiceRequest } from './tries.ts'

export const CHOICES: AlternativesKind = {
  operation(request) {
    if (!alternativesOf(request)) return undefined
    const given = request as ChoiceRequest
    let joined: JoinedCalls | undefined
    const join = (): JoinedCalls => (joined ??= joinCalls(toTry(given)))
    const data: Choosing = { request: given, join }
    const { startedAt } = request
    // Only a script needs the keys.
    return {
      kind: CHOOSE,
      get keys() {
        return join().keys
      },
      data,
      startedAt,
    }
  },

  within(request, { factory, shardBy, ofKey }) {
    const places = new Set<string>()
    const given = request as ChoiceRequest
    const all = given.alternatives.all.map((one) => {
      const entries = one.entries.map((entry) =>
        Object.assign({}, entry, { place: ofKey(entry.key) }),
      )
      for (const { place, policy } of entries) if (!isLeased(policy)) places.add(place)
      return Object.assign({}, one, { entries })
    })
    if (places.size > 1) {
      const rule = `must all be counted in one place, but are in ${[...places].join(' and ')}: no step spans two. Let them have one ${shardBy}, or set ${factory}.shardBy to a dimension that they share`
      throw invalidOption('choices', rule)
    }
    const isServed = all.some(({ entries }) => entries.some(({ policy }) => isLeased(policy)))
    const isOne = alternativesOf(given) && !isServed && given.entries.length > 0
    return isOne ? { ...given.alternatives, all } : undefined
  },

  each(request, change) {
    const { alternatives } = request as ChoiceRequest
    const all = alternatives.all.map(change)
    return { ...request, ...all[0], alternatives: { ...alternatives, all } }
  },

  data(request, dataOf) {
    const made = alternativesOf(request)
    return made && { all: made.all.map((one) => dataOf(one)), denied: made.denied }
  },

  known(request, find) {
    const { all, denied } = (request as ChoiceRequest).alternatives
    let last: StoreReply | undefined
    for (const [at, one] of all.entries()) {
      const known = denied.has(at)
        ? undefined
        : find({ ...request, ...one, alternatives: undefined })
      if (known) denied.set(at, known.verdicts)
      last = known ?? last
    }
    if (denied.size < all.length) return undefined
    const tries = new Tries(request as ChoiceRequest)
    tries.next()
    return { ...tries.reply(), now: last?.now ?? request.now }
  },
}

interface Choosing {
  readonly request: ChoiceRequest
  /** Joins the calls of all that are to be tried, once. */
  readonly join: () => JoinedCalls
}

/** Returns the requests for all that are not known to be denied. */
function toTry({ alternatives: { all, denied }, ...request }: ChoiceRequest): StoreRequest[] {
  return all.filter((_, at) => !denied.has(at)).map((one) => Object.assign({}, request, one))
}

const CHOOSE: LuaOperationKind<StoreReply, Choosing> = {
  name: 'choose',

  run(states, { data: { request } }) {
    const tries = new Tries(request)
    for (let one = tries.next(); one; one = tries.next()) {
      tries.add(decideOn(states as CountedStates, one))
    }
    return tries.reply()
  },

  lua: {
    shape: ({ request }) => scriptName(request),
    script: ({ request }) => choosingScript(decidingScript(request, WINS)),
    args: ({ join }) => join().args,
    parse(reply, { request }) {
      if (!Array.isArray(reply)) return undefined
      const tries = new Tries(request)
      for (const answer of reply as unknown[]) {
        const one = tries.next()
        if (!one) return undefined
        tries.add(parseCheckReply(answer, one))
      }
      return tries.next() ? undefined : { result: tries.reply() }
    },
  },
}

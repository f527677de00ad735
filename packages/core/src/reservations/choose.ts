/* The decision over choices of one call: each is resolved, the store is asked once, and one is concluded. */
import type { TriedChoice } from '../decision.ts'
import type { DecideCall, Outcome } from '../limiter/outcome.ts'
import type { LimiterRuntime } from '../limiter/runtime.ts'
import type { RecordRead, Store, StoreReply, StoreRequest } from '../stores/store.ts'
import { StoreError } from '../errors.ts'
import { requestId } from '../internal/random-id.ts'
import { startResolving, type CallQuestion, type Question } from '../limiter/decide.ts'
import { grantedOf, withFit } from './fit-call.ts'
import { CHOICES } from '../stores/choices/alternatives.ts'
import { invalidChoices, type Choice } from './choice.ts'
import { Tries, type ChoiceRequest } from '../stores/choices/tries.ts'

/** The most entries of one decision, as many as one batch has. */
const MAX_ENTRIES = 256

/** Dimensions that change limits also where no policy counts by them. */
const FOR_LIMITS = ['plan', 'route', 'model']

/** Returns a function that resolves all choices of a call. @throws InputError When this limiter cannot decide them. */
export function startChoosing(
  runtime: LimiterRuntime,
  call: DecideCall,
  list: readonly Choice[],
): () => Promise<Question> {
  if (call.cost !== undefined || call.fit) {
    throw invalidChoices(
      'must have the cost and the fit of each; the call must have none beside them',
    )
  }
  const { dimensions } = runtime.program
  for (const name of Object.keys(list[0]?.subject ?? {})) {
    if ([...dimensions, ...FOR_LIMITS].includes(name)) continue
    throw invalidChoices(
      `must differ in dimensions that policies count by, and none counts by "${name.slice(0, 60)}"`,
    )
  }
  const calls = list.map(({ subject, cost, fit }): DecideCall => {
    const one = { ...call, subject: { ...call.subject, ...subject }, cost, choices: undefined }
    return withFit(one, fit, runtime)
  })
  const resolveEach = calls.map((one) => startResolving(runtime, one))
  return async () => {
    const id = call.id ?? requestId()
    const questions = await Promise.all(resolveEach.map((resolve, at) => resolve(idAt(id, at))))
    assertCounted(questions)
    const request = joinedRequest(questions)
    return {
      request,
      async conclude(reply) {
        const all =
          reply.choice === undefined ? await askInTurn(runtime.store, request, reply) : reply
        return outcomeOf(list, questions, request.reads, all)
      },
    }
  }
}

/** Returns the id of a choice: each has its own, so its own mark, and only that of the one charged is written. */
const idAt = (id: string, position: number): string => (position === 0 ? id : `${id}C${position}`)

/** @throws InputError When no policy counts a choice, or when all of them have too many entries. */
function assertCounted(questions: readonly CallQuestion[]): void {
  const count = questions.reduce((sum, { request }) => sum + request.entries.length, 0)
  if (count > MAX_ENTRIES) {
    throw invalidChoices(
      `must have at most ${MAX_ENTRIES} policies that take part in all, but have ${count}`,
    )
  }
  const at = questions.findIndex(
    ({ request, skipped }) =>
      request.entries.length === 0 &&
      skipped.every(({ why }) => why === 'other_route' || why === 'missing_dimension'),
  )
  if (at >= 0) throw invalidChoices(`[${at}] is counted by no policy, so it would always be chosen`)
}

/** Returns one request for all. Records that several read are read once. */
function joinedRequest(questions: readonly CallQuestion[]): ChoiceRequest {
  const requests = questions.map(({ request }) => request)
  const reads = new Map<string, RecordRead>()
  for (const read of requests.flatMap((one) => one.reads)) reads.set(nameOf(read), read)
  const failed = requests.find(({ failure }) => failure !== undefined)
  const all = requests.map(({ id, entries, mark, fit }) => ({ id, entries, mark, fit }))
  return {
    ...(requests[0] as StoreRequest),
    reads: [...reads.values()],
    failure: failed?.failure,
    alternatives: { kind: CHOICES, all, denied: new Map() },
  }
}

const nameOf = ({ key, field, is }: RecordRead): string => JSON.stringify([key, field, is])

/** Asks for one choice after the other: the store, or a store around it, has answered for the first alone. */
async function askInTurn(
  store: Store,
  request: ChoiceRequest,
  first: StoreReply,
): Promise<StoreReply> {
  // The answer of the store is newer than what a cache around it knows.
  if (!first.degraded) request.alternatives.denied.delete(0)
  const tries = new Tries(request)
  let failure = request.failure ?? failureOf(first)
  for (let one = tries.next(); one; one = tries.next()) {
    const isAnswered = one.entries === request.entries
    const reply = isAnswered ? first : await store.check({ ...one, failure })
    failure ??= failureOf(reply)
    tries.add(reply)
  }
  return tries.reply()
}

/** A store that has failed is not called again. */
const failureOf = ({ degraded }: StoreReply): StoreError | undefined =>
  degraded && new StoreError(degraded.cause, 'The store failed')

/** Concludes the choice that the store has made. */
function outcomeOf(
  list: readonly Choice[],
  questions: readonly CallQuestion[],
  reads: readonly RecordRead[],
  { choice = 0, tried = [], ...reply }: StoreReply,
): Outcome {
  const names = reads.map(nameOf)
  const outcomes = questions.map(({ request, conclude }, at) => {
    const values = request.reads.map((read) => reply.values[names.indexOf(nameOf(read))])
    if (at === choice) return conclude({ ...reply, values })
    const verdicts = tried[at] ?? []
    // An answer of the store stands, also if it has not given the next.
    const mode = verdicts.length > 0 ? 'local' : reply.degraded?.mode
    const degraded = reply.degraded && mode && { ...reply.degraded, mode }
    return conclude({ ...reply, granted: undefined, verdicts, values, degraded })
  })
  const parts = outcomes.map(({ id, call: { fit } }, at) => {
    const { entries } = (questions[at] as CallQuestion).request
    // At the most that it may have been charged.
    return { id, entries: fit?.kind.charge(fit, entries, { verdicts: [] }) ?? entries }
  })
  const facts = {
    isOutdated: !reply.degraded && outcomes.find(({ isOutdated }) => isOutdated)?.isOutdated,
    alternatives: parts,
  }
  const outcomeAt = (position: number): Outcome => {
    const outcome = outcomes[position] as Outcome
    const answers = outcomes.slice(0, tried.length).map(({ decision }, at): TriedChoice => {
      const { subject } = list[at] as Choice
      const { allowed, reason, violated, retryAfterMs } = decision
      return { subject, allowed, reason, violated, retryAfterMs }
    })
    // Whichever was chosen, the store may have charged another if it has not answered.
    const others = reply.degraded ? parts.filter((_, at) => at !== position) : []
    return {
      ...outcome,
      ...facts,
      decision: {
        ...outcome.decision,
        ...(outcome.decision.allowed && grantedOf(outcome)),
        choice: position,
        tried: answers,
      },
      unheard: others.map((one) =>
        Object.assign({}, outcome, one, { reply: { ...reply, verdicts: [] } }),
      ),
    }
  }
  return {
    ...outcomeAt(choice),
    explained(explain) {
      let [sooner, leastMs] = [choice, waitMsOf(outcomes[choice] as Outcome)]
      for (const [at, one] of outcomes.slice(0, tried.length).entries()) {
        const waitMs = waitMsOf(one)
        explain(one)
        const isShorter = waitMsOf(one) < waitMs || at === choice
        if (isShorter && waitMsOf(one) < leastMs) [sooner, leastMs] = [at, waitMsOf(one)]
      }
      return outcomeAt(sooner)
    },
  }
}

const waitMsOf = ({ decision }: Outcome): number => decision.retryAfterMs ?? Infinity

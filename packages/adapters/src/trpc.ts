import type { IncomingMessage, ServerResponse } from 'node:http'
import { invalidOption } from '@sluice/core/internal'
import type { AllowedDecision } from '@sluice/core'
import {
  createGuard,
  type CallInFlight,
  type DenialBody,
  type LimiterSource,
  type RequestReservation,
} from '@sluice/core/http'
import { TRPCError, type TRPCMiddlewareFunction, type TRPC_ERROR_CODE_KEY } from '@trpc/server'
import { isObservable, observable, type Observable } from '@trpc/server/observable'
import { requestOf } from './internal/node-request.ts'
import { splitRoute, type RouteLimitOptions } from './internal/route-option.ts'

/** The parts of a context that the adapter uses. `createContext` gets them from tRPC's adapter. */
export interface RequestContext {
  /** The request. */
  readonly req: Request | IncomingMessage
  /** The headers of the response, of tRPC's fetch adapter. */
  readonly resHeaders?: Headers | undefined
  /** The response, of tRPC's adapters for Node.js. */
  readonly res?: ServerResponse | undefined
}

/** The addition to the context of a procedure that is limited. */
export interface LimitedContext {
  /** The decision; if the cost is `reserving(…)`, it is the reservation, too. */
  readonly decision: AllowedDecision | RequestReservation
}

/** The call of a procedure, as tRPC passes it to middleware. */
export interface ProcedureCall<Context extends RequestContext> {
  readonly ctx: Context
  /** The path of the procedure, such as `chat.send`. */
  readonly path: string
  readonly type: 'query' | 'mutation' | 'subscription'
  /** Reads the input as the client sent it. */
  getRawInput(): Promise<unknown>
}

/** Options of `rateLimit`. `route` is the path of the procedure by default. */
export type RateLimitOptions<Context extends RequestContext = RequestContext> = Omit<
  RouteLimitOptions<[call: ProcedureCall<Context>]>,
  'format' | 'onDenied' | 'preflight'
>

/**
 * Limits the calls of procedures. A call without a subject throws a `TRPCError` with the code
 * `UNAUTHORIZED`, and one that a policy denies `TOO_MANY_REQUESTS`; `denialOf` tells when to call again. Any
 * other call goes on. The limits' headers are set on the response, which a batch of calls shares.
 *
 * @param limiter A limiter, or a function that creates it at the first call (its result is kept).
 * @throws ConfigError When an option is missing or malformed.
 * @example
 * const limited = t.procedure.use(rateLimit(limiter, { subject: tenantFromJwt }))
 */
export function rateLimit<Context extends RequestContext = RequestContext>(
  limiter: LimiterSource<[call: ProcedureCall<Context>]>,
  options: RateLimitOptions<Context>,
): TRPCMiddlewareFunction<Context, unknown, object, LimitedContext, unknown> {
  const { route, guardOptions } = splitRoute(options)
  const guard = createGuard(limiter, { ...guardOptions, format: 'default' })
  return async (trpcCall) => {
    const procedure = trpcCall as unknown as ProcedureCall<Context>
    const { ctx, path } = procedure
    const outcome = await guard(
      { id: route ?? path, cost: undefined },
      fetchRequest(ctx),
      procedure,
    )
    if (outcome.kind === 'refuse') throw await refusalError(ctx, outcome.response)
    // A preflight calls no procedure.
    if (outcome.kind === 'pass') throw new TRPCError({ code: 'METHOD_NOT_SUPPORTED' })
    const { decision, headers, call } = outcome
    setHeaders(ctx, Object.entries(headers))
    const result = await trpcCall.next({ ctx: { decision } })
    const stream = call && result.ok ? streamOf(result.data, call, trpcCall.signal) : undefined
    if (stream !== undefined) return { ...result, data: stream }
    await call?.end()
    return result
  }
}

/**
 * Returns the reservation of a call to its procedure, if the cost is `reserving(…)`.
 *
 * @throws ConfigError When nothing is reserved for the call.
 * @example
 * const call = reservationOf(ctx)
 * await call.settle({ token: usage.total_tokens })
 */
export function reservationOf({ decision }: LimitedContext): RequestReservation {
  if ('settle' in decision) return decision
  throw invalidOption('cost', 'must be reserving(…), else nothing is reserved for a procedure')
}

/** The body of a denial; of a call without a subject, only `error` and `message`. */
export type CallDenial = Pick<DenialBody, 'error' | 'message'> & Partial<DenialBody>

/**
 * Returns why a call was denied and when it fits, for an `errorFormatter`; `undefined` for other errors.
 *
 * @example
 * errorFormatter: ({ shape, error }) => ({ ...shape, data: { ...shape.data, denial: denialOf(error) } })
 */
export function denialOf({ cause }: TRPCError): CallDenial | undefined {
  return cause instanceof Denied ? cause.denial : undefined
}

class Denied extends Error {
  readonly denial: CallDenial

  constructor(denial: CallDenial) {
    super(denial.message)
    this.denial = denial
  }
}

const CODES: Readonly<Record<number, TRPC_ERROR_CODE_KEY>> = {
  401: 'UNAUTHORIZED',
  402: 'PAYMENT_REQUIRED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  429: 'TOO_MANY_REQUESTS',
  499: 'CLIENT_CLOSED_REQUEST',
  503: 'SERVICE_UNAVAILABLE',
}

/** Makes the error of a response that turns a call away, and sets its headers. */
async function refusalError(context: RequestContext, response: Response): Promise<TRPCError> {
  const { status } = response
  const headers = new Headers(response.headers)
  const code = CODES[status] ?? (status < 500 ? 'BAD_REQUEST' : 'INTERNAL_SERVER_ERROR')
  headers.delete('content-type')
  setHeaders(context, headers)
  // Nobody reads the answer to a client that is gone.
  if (response.body === null) return new TRPCError({ code })
  const cause = new Denied((await response.json()) as CallDenial)
  return new TRPCError({ code, message: cause.message, cause })
}

function setHeaders(
  { resHeaders, res }: RequestContext,
  headers: Iterable<[string, string]>,
): void {
  for (const [name, value] of headers) {
    if (resHeaders) resHeaders.set(name, value)
    else if (res?.headersSent === false) res.setHeader(name, value)
  }
}

/** Returns the request of a context. @throws ConfigError When the context has none. */
function fetchRequest({ req, res }: RequestContext): Request {
  if (req && isFetchRequest(req)) return req
  if (req && res) return requestOf(req, res)
  const message =
    'must return the request: createContext: ({ req, resHeaders }) => ({ req, resHeaders })'
  throw invalidOption('createContext', message)
}

/** By its headers, because servers replace the global `Request` by a class of their own. */
const isFetchRequest = (req: Request | IncomingMessage): req is Request =>
  typeof req.headers.get === 'function'

/** Returns a stream that ends a call with it, or `undefined` if `data` is not a stream. */
function streamOf(data: unknown, call: CallInFlight, signal: AbortSignal | undefined): unknown {
  const stream = isObservable(data)
    ? withTeardown(data, call)
    : isAsyncIterable(data)
      ? withEnd(data, call)
      : undefined
  if (stream === undefined) return undefined
  // A stream that waits for its next part does not notice that its client is gone.
  if (signal?.aborted) void call.end()
  else signal?.addEventListener('abort', () => void call.end())
  return stream
}

const isAsyncIterable = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value

/** Passes on what a procedure yields, and ends its call with it. */
async function* withEnd(source: AsyncIterable<unknown>, call: CallInFlight): AsyncGenerator {
  try {
    yield* source
  } finally {
    await call.end()
  }
}

/** Passes on what a procedure emits, and ends its call with it. */
const withTeardown = (source: Observable<unknown, unknown>, call: CallInFlight): unknown =>
  observable((observer) => {
    const subscription = source.subscribe(observer)
    return () => {
      subscription.unsubscribe()
      void call.end()
    }
  })

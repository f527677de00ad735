import type { LuaOperationKind } from '../lua/twins.ts'
import type { Operation, StateMap } from '../stores/store.ts'
import type { Correction } from './settle-request.ts'
import { systemClock } from '../clock.ts'
import { runtimeOf } from '../limiter/runtime.ts'
import { argument } from '../lua/expressions.ts'
import { indent } from '../lua/program.ts'
import { markKey, type ReservationData } from './reservation-data.ts'
import { correctionsOf } from './settle.ts'
import { settlementOf } from './settlements.ts'

/**
 * Returns a function that frees the calls in flight of a reservation and leaves the rest as it is, to be
 * settled later or never. Returns `undefined` if the reservation has none. The function rejects with a
 * `StoreError` when the store fails; the calls then come free by themselves.
 */
export function slotRelease(
  limiter: object,
  data: ReservationData,
): (() => Promise<unknown>) | undefined {
  const runtime = runtimeOf(limiter)
  const corrections = correctionsOf(data, runtime, (_, reserved) => reserved)
  const slots = corrections.filter(({ policy }) => policy.algorithm.traits?.held)
  if (slots.length === 0) return undefined
  return async () => {
    const { store, clock } = runtime
    const localMark = data.madeIn === 'store' ? undefined : markKey(data.id)
    await store.run(releaseOperation(slots, clock(), localMark))
  }
}

/** Creates the operation that frees slots. To free them again changes nothing, so it needs no mark. */
const releaseOperation = (
  slots: readonly Correction[],
  now: number,
  localMark: string | undefined,
): Operation<void, Slots> => ({
  kind: RELEASE_SLOTS,
  keys: slots.map(({ key }) => key),
  data: { slots, now },
  startedAt: systemClock(),
  localMark,
  onFault: () => undefined,
})

interface Slots {
  readonly slots: readonly Correction[]
  readonly now: number
}

export const RELEASE_SLOTS: LuaOperationKind<void, Slots> = {
  name: 'release',
  correctsCharges: true,
  run: (states, { data }) => releaseInMemory(data, states),
  lua: {
    shape: ({ slots }) =>
      slots.map(({ policy }) => [policy.algorithm.id, ...policy.params].join('-')).join(),
    script: ({ slots }) => releasingScript(slots),
    args: ({ slots, now }) => [
      String(now),
      slots[0]?.id ?? '',
      ...slots.flatMap(({ limit, burst, reserved }) => [limit, burst, reserved].map(String)),
    ],
    parse: (reply) => (reply === 1 ? { result: undefined } : undefined),
  },
}

function releaseInMemory({ slots, now }: Slots, states: StateMap): void {
  for (const slot of slots) {
    const { key, policy } = slot
    const settlement = { ...slot, position: now }
    const freed = settlementOf(policy).settle(states.get(key, now) as never, settlement, now)
    if (freed) states.set(key, freed)
  }
}

/** The position of the first slot's first argument in ARGV, and the number of arguments per slot. */
const FIRST_ARG = 3
const ARGS_PER_SLOT = 3

/** KEYS: those of the slots. ARGV: the time, the id; for each slot limit, burst, reserved. */
function releasingScript(slots: readonly Correction[]): string {
  const parts = slots.map(({ policy }, index) => {
    const given = [0, 1, 2].map((place) => argument(FIRST_ARG + ARGS_PER_SLOT * index + place))
    return `do
  local key, applied, actual = KEYS[${index + 1}], 0, 0
  local limit, burst, reserved = ${given.map((text) => `tonumber(${text})`).join(', ')}
  local position = now
  ${indent(settlementOf(policy).lua(policy.params), 2)}
end`
  })
  return `local now, id = tonumber(ARGV[1]), ARGV[2]
${parts.join('\n')}
return 1
`
}

import type {
  Operation,
  OperationKind,
  SettlementMark,
  StateMap,
  Store,
  StoreRequest,
} from '@sluice/core'
import { memory } from '@sluice/core/memory'

/** A store in memory with some of its answers changed. */
const changed = (change: (right: Store) => Partial<Store>): (() => Store) => {
  return () => {
    const right = memory()
    return { ...right, ...change(right) }
  }
}

/** A store in memory that is asked something else than it was. */
const withRequest = (change: (request: StoreRequest) => Partial<StoreRequest>): (() => Store) =>
  changed((right) => ({
    check: (request) => right.check({ ...request, ...change(request) }),
  }))

/** A store in memory in which operations find other states than there are. */
const operating = (change: (states: StateMap) => Partial<StateMap>): (() => Store) =>
  changed((right) => ({
    run: <Result>(operation: Operation<Result>) =>
      right.run({ ...operation, kind: changedKind(operation.kind, change) }),
  }))

/** An operation that finds other states than there are. */
const changedKind = <Result>(
  kind: OperationKind<Result>,
  change: (states: StateMap) => Partial<StateMap>,
): OperationKind<Result> => ({
  ...kind,
  run: (states, operation) => kind.run({ ...states, ...change(states) }, operation),
})

type WriteMark = SettlementMark['kind']['write']

/** A store in memory that writes marks in another way. */
const marking = (change: (write: WriteMark) => WriteMark): (() => Store) =>
  withRequest(({ mark }) => ({
    mark: mark && {
      ...mark,
      kind: { ...mark.kind, write: change((...args) => mark.kind.write(...args)) },
    },
  }))

const everyOne = ({ entries }: StoreRequest, enforced: boolean) => ({
  entries: entries.map((entry) => ({ ...entry, enforced })),
})

const NOTHING: StateMap = { get: () => undefined, set: () => {} }

/** Stores that are wrong, by what is wrong about them, each with a claim that it must fail. */
export const MUTANTS: Readonly<Record<string, readonly [make: () => Store, claim: string]>> = {
  'charges what is denied': [
    changed((right) => ({
      async check(request) {
        const reply = await right.check(request)
        if (reply.verdicts.every(({ charged }) => !charged)) {
          await right.check({ ...request, ...everyOne(request, false) })
        }
        return reply
      },
    })),
    'charges all policies or none, whichever of them denies',
  ],
  'charges twice': [
    changed((right) => ({
      async check(request) {
        await right.check(request)
        return right.check(request)
      },
    })),
    'allows as much as the limit, and reports what remains',
  ],
  'enforces shadows': [
    withRequest((request) => everyOne(request, true)),
    'a shadow denies nothing, and is charged only for what fits it',
  ],
  'charges on a peek': [withRequest(() => ({ apply: true })), 'peek charges nothing'],
  'checks first and charges later': [
    changed((right) => ({
      async check(request) {
        const reply = await right.check({ ...request, apply: false })
        await Promise.resolve()
        const fits = request.entries.every(
          ({ enforced }, at) => !enforced || reply.verdicts[at]?.fits,
        )
        if (!request.apply || !fits) return reply
        await right.check({ ...request, ...everyOne(request, false) })
        return reply
      },
    })),
    'of 25 concurrent checks of a limit of 20, exactly 20 are allowed',
  ],
  'ignores a fit': [
    withRequest(() => ({ fit: undefined })),
    'a fit is granted the most that every policy has room for, and charged exactly that',
  ],
  'decides by its own clock': [
    withRequest(() => ({ now: Date.now() })),
    'allows as much as the limit, and reports what remains',
  ],
  'mixes up names that differ in case': [
    withRequest(({ entries }) => ({
      entries: entries.map((entry) => ({ ...entry, key: entry.key.toLowerCase() })),
    })),
    "a tenant's requests never touch another's budget, whatever their names",
  ],
  'rounds retry times up to seconds': [
    changed((right) => ({
      async check(request) {
        const reply = await right.check(request)
        const verdicts = reply.verdicts.map((verdict) => ({
          ...verdict,
          retryMs: Math.ceil(verdict.retryMs / 1_000) * 1_000,
        }))
        return { ...reply, verdicts }
      },
    })),
    'retryAfterMs is exact: denied one millisecond before, allowed at it',
  ],
  'settles twice': [
    operating((states) => ({
      set: (key, stored) => (stored.isSpent ? undefined : states.set(key, stored)),
    })),
    'a reservation is settled once, also by many at once',
  ],
  'never settles': [
    changed(() => ({
      run: (operation) => Promise.resolve(operation.kind.run(NOTHING, operation)),
    })),
    'what was reserved and not used is given back',
  ],
  'keeps marks for ever': [
    marking((write) => (mark, states, charges, now) => {
      write(mark, states, charges, now + 3_600_000)
    }),
    'an estimate is final once the time to settle is over',
  ],
  'forgets the other fields of a record': [
    operating((states) => ({
      get: (key, now) => (key.startsWith('conformance:') ? undefined : states.get(key, now)),
    })),
    'a write leaves the other fields of a record',
  ],
  'keeps records for ever': [
    operating((states) => ({
      set: (key, stored) => states.set(key, { ...stored, expiresAt: Infinity }),
    })),
    'a record is gone once its time is over, and one without a time stays',
  ],
  'reads no records': [
    changed((right) => ({
      async check(request) {
        const reply = await right.check(request)
        return { ...reply, values: reply.values.map(() => undefined) }
      },
    })),
    'records are read in the same step as a decision, allowed or denied',
  ],
  'loses what is to be released': [
    marking((write) => (mark, states, charges, now) => {
      const set: StateMap['set'] = (key, kept) => {
        if (!key.startsWith('open:')) states.set(key, kept)
      }
      write(mark, { ...states, set }, charges, now)
    }),
    'what nobody settles is released, once, if it was reserved so',
  ],
  'never finds what is to be released': [
    operating((states) => ({
      get: (key, now) => (key.startsWith('open:') ? undefined : states.get(key, now)),
    })),
    'a denial first releases what nobody settles',
  ],
  'counts calls in flight for ever': [
    withRequest(({ entries }) => ({
      entries: entries.map((entry) =>
        entry.policy.unit === 'call'
          ? { ...entry, params: entry.params.map((param) => param * 1_000) }
          : entry,
      ),
    })),
    'calls in flight are counted until they end, or for their longest time',
  ],
  'charges a key for each policy that shares it': [
    changed((right) => ({
      async check(request) {
        const keys = new Set(request.entries.map(({ key }) => key))
        if (keys.size < request.entries.length) await right.check(request)
        return right.check(request)
      },
    })),
    'windows that share a log count a request once, and settle it once',
  ],
  'resets nothing': [
    changed(() => ({ reset: () => Promise.resolve() })),
    'a reset forgets what a subject has used, and nothing of others',
  ],
  fails: [
    changed(() => ({ check: () => Promise.reject(new Error('disk full')) })),
    'allows as much as the limit, and reports what remains',
  ],
}

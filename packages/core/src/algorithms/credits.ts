import type { Algorithm, AlgorithmInput, Settlement } from './algorithm.ts'
import type { CalendarNumbers } from './calendar-window.ts'
import { CreditAccount } from './credit-account.ts'
import type { CreditState } from './credit-state.ts'
import { openAccountLua, openLua } from './credit-account-lua.ts'

/** The numbers of an entry. Those of a calendar are there with an allowance. */
interface CreditInput extends AlgorithmInput, Partial<CalendarNumbers> {
  /** The time within which the units will be settled, in milliseconds: 0 for a check, whose cost is final. */
  readonly hold: number
}

/** Counts a balance without a window. Its params: see `CreditParams`. */
export const creditAlgorithm: Algorithm<CreditState> = {
  id: 'credits',
  traits: { balance: true },

  check(state: CreditState | undefined, input: CreditInput, now: number) {
    const account = new CreditAccount(state, now, input)
    const available = account.available()
    const fits = input.cost <= available || input.cost === 0
    const retryMs = fits ? 0 : account.retryMs(input.cost, input)
    return { fits, available, resetMs: account.resetMs(input), retryMs }
  },

  add(state: CreditState | undefined, input: CreditInput, now: number, id: string) {
    const account = new CreditAccount(state, now, input)
    const position = account.charge(input.cost, input.hold, id)
    return { ...stored(account), position }
  },

  lua: (params) => ({
    keeps: ['account', 'hold', 'position'],
    check: `${openAccountLua(params)}available, reset = account.available(), account.reset
fits = cost <= available or cost == 0
if not fits then retry = account.retry(cost) end
$account, $hold = account, hold`,
    add: `$position = $account.charge(cost, $hold, id)
$account.save()`,
    position: '$position',
  }),

  settlement: {
    needsTime: true,

    settle(
      state: CreditState | undefined,
      { position, reserved, actual, id, params }: Settlement,
      now: number,
    ) {
      // The plan may be another one by now, so its allowance is left to the next decision.
      const account = new CreditAccount(state, now, { params })
      account.settle(position, actual, id)
      return { ...stored(account), applied: actual - reserved }
    },

    lua: ([
      ,
      ,
      ,
      releases,
    ]) => `${openLua(String(releases === 1))}account.settle(position, actual, id)
account.save()
applied = actual - reserved`,
  },
}

const stored = (account: CreditAccount) => ({ state: account.save(), expiresAt: Infinity })

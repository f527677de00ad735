/* The Lua twin of `credit-account.ts`: the same steps under the same names, in the same order. */
import { FOREIGN } from './algorithm.ts'
import { nextEndLua } from './calendar-window.ts'
import { ACCOUNT, INCLUDED, MONTH_MS, SUMS, type CreditParams } from './credit-state.ts'
import { FACTS, STEPS } from './credit-steps-lua.ts'

/** Lua that opens the account of `key` at `now`, as `account`: brought up to date, its allowance by the numbers of an entry. */
export function openAccountLua(params: readonly number[]): string {
  const [hasAllowance, period, rollover, releases] = params as CreditParams
  return openLua(
    releases === 1 ? 'true' : 'false',
    hasAllowance === 1 ? renewLua(period, rollover) : END_ALLOWANCE,
    hasAllowance === 1 ? rollover : undefined,
  )
}

/**
 * Lua that opens the account of `key`.
 *
 * @param releases A condition in Lua: what is due is given back.
 * @param renewal Lua that brings the allowance up to date.
 * @param rollover The most of the allowance that goes on, if it is renewed.
 */
export function openLua(releases: string, renewal = '', rollover?: number): string {
  return `${FACTS}
local account = {}
do
  local a, lots, spent, fields, gone = {}, {}, {}, {}, {}
  local names = { ${SUMS.map((name) => `'${name}'`).join(', ')} }
  local stored = redis.call('HGET', key, '${ACCOUNT}') or '||'
  local sums, lotTexts, spentTexts = string.match(stored, '^([^|]*)|([^|]*)|([^|]*)$')
  if not sums then ${FOREIGN} end
  for number in string.gmatch(sums, '%S+') do a[table.remove(names, 1)] = tonumber(number) end
  for _, name in ipairs(names) do a[name] = 0 end
  for name, left in string.gmatch(lotTexts, '([^,=]+)=(%d+)') do lots[#lots + 1] = lotOf(name, tonumber(left)) end
  for name, units in string.gmatch(spentTexts, '([^,=]+)=(%d+)') do spent[#spent + 1] = { lot = name, units = tonumber(units) } end
  account.sums, account.lots, account.spent = a, lots, spent
${STEPS}
if ${releases} and a.due > 0 and a.due <= now then releaseDue() end
expire()
${renewal}
account.payDebt()
${retryLua(rollover)}
account.reset = ${rollover !== undefined ? 'known and a.finish - now or 0' : '0'}
end
`
}

/** Lua that ends the last period of an allowance that the policy no longer has. */
const END_ALLOWANCE = `if a.included > 0 and now >= a.finish then
  local expired = a.included
  a.included = 0
  a.expired = a.expired + expired
  log('expired', -expired, string.format('${INCLUDED}:%.0f', a.finish))
end`

/** Lua that begins the period of the allowance that `now` is in, or adds what a new plan includes. */
const renewLua = (period: number, rollover: number): string => `local known = true
do
  local isRunning, ending, last = now < a.finish, a.finish, a.finish > 0 and a.finish or nil
  if isRunning then
    local more = math.max(0, limit - a.allowance)
    a.included, a.granted, a.allowance = a.included + more, a.granted + more, a.allowance + more
    log('included', more, string.format('${INCLUDED}:%.0f', ending))
  else
    ending = nil
    ${nextEndLua([period])}
    known = ending ~= nil
  end
  if known and not isRunning then
    local left, skipped = a.included, 0
    if last then skipped = math.floor((ending - last) / ${period === 0 ? MONTH_MS : period} + 0.5) - 1 end
    local kept = math.min(${rollover}, left + math.max(0, skipped) * a.allowance)
    local expired = math.max(0, left - kept)
    a.expired = a.expired + expired
    log('expired', -expired, string.format('${INCLUDED}:%.0f', a.finish))
    local granted = limit + kept - left + expired
    a.granted, a.finish, a.allowance, a.included = a.granted + granted, ending, limit, limit + kept
    log('included', granted, string.format('${INCLUDED}:%.0f', ending))
  end
end`

/** Lua that defines `account.retry`, the milliseconds until units fit: -1 for never. */
const retryLua = (rollover: number | undefined): string => `function account.retry(units)
  local starts = {}
  for _, lot in ipairs(lots) do if lot.effective > now then starts[#starts + 1] = lot.effective end end
  ${rollover !== undefined ? 'if known and a.finish > now then starts[#starts + 1] = a.finish end' : ''}
  table.sort(starts)
  for _, at in ipairs(starts) do
    local renewed = ${rollover !== undefined ? `known and at >= a.finish and limit + math.min(${rollover}, a.included) or 0` : '0'}
    if units <= unitsAt(at) + renewed - a.debt then return at - now end
  end
  return -1
end`

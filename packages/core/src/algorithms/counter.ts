import type { Algorithm, AlgorithmInput, Settlement, SettlementTwins } from './algorithm.ts'
import { fitWindow, FOREIGN, windowFinding } from './algorithm.ts'

interface CounterState {
  /** The number, since the Unix epoch, of the segment that `counts` begins with. */
  readonly index: number
  /** Units per segment, the newest first. The last segment is only partly in the window. */
  readonly counts: readonly number[]
}

/** Counts in segments of a window. Its params: the window in milliseconds, and the number of segments. */
export const counterAlgorithm: Algorithm<CounterState> = {
  id: 'counter',
  traits: { slides: true },

  check(state: CounterState | undefined, input: AlgorithmInput, now: number) {
    const [window = 1, segments = 1] = input.params
    const length = window / segments
    const { index, counts } = current(state, input.params, now)
    const start = index * length
    const oldest = counts[segments] ?? 0
    let inFull = -oldest
    for (const count of counts) inFull += count
    const past = Math.max(0, now - start)
    const used = inFull + Math.ceil((oldest * (length - past)) / length)

    /** Returns the milliseconds until no more than `room` units are in use. */
    function until(room: number): number {
      let rest = inFull
      for (let later = 0; ; later += 1) {
        const leaving = counts[segments - later] ?? 0
        const spare = room - rest
        // The milliseconds of the leaving segment that may still be in the window.
        const part = spare >= leaving ? length : Math.floor((spare * length) / leaving)
        if (part > 0) return start + (later + 1) * length - part - now
        rest -= counts[segments - later - 1] ?? 0
      }
    }

    const resetMs = used === 0 ? start + (segments + 1) * length - now : until(used - 1)
    return windowFinding(input, used, resetMs, () => until(input.limit - input.cost))
  },

  add(state: CounterState | undefined, { cost, params }: AlgorithmInput, now: number) {
    const { index, counts } = current(state, params, now)
    return {
      ...withExpiry(index, counts.with(0, (counts[0] ?? 0) + cost), params),
      position: index,
    }
  },

  // The value is `c<index>:<newest>:…:<oldest>`, without the zeros at its end. It keeps a segment that
  // is later than the one of `now`, as if it had just begun: a clock that steps back over a border must
  // not find the counts gone. For the same reason a key lives a window longer than its counts.
  lua([window = 1, segments = 1]) {
    const length = window / segments
    const { read, expiring } = luaPieces(window, segments)
    const until = (room: string, result: string): string => `do
  local rest, later = in_full, 0
  while true do
    local leaving, spare = counts[${segments + 1} - later] or 0, ${room} - rest
    local part = spare >= leaving and ${length} or math.floor(spare * ${length} / leaving)
    if part > 0 then
      ${result} = start + (later + 1) * ${length} - part - now
      break
    end
    rest = rest - (counts[${segments} - later] or 0)
    later = later + 1
  end
end`
    return {
      keeps: ['index', 'counts'],
      check: `${read(`math.floor(now / ${length})`)}
local start, in_full = index * ${length}, 0
for place = 1, ${segments} do in_full = in_full + counts[place] end
local used = in_full + math.ceil(counts[${segments + 1}] * (${length} - math.max(0, now - start)) / ${length})
local free, freed = start + ${(segments + 1) * length} - now, 0
if used > 0 then ${until('used - 1', 'free')} end
if cost > 0 and used + cost > limit and cost <= limit then ${until('limit - cost', 'freed')} end${fitWindow('free', 'freed')}
$index, $counts = index, counts`,
      add: `local index, counts = $index, $counts
counts[1] = counts[1] + cost
${expiring}`,
      position: '$index',
    }
  },
}

/** Corrects the charges of counters. */
export const counterSettlement: SettlementTwins<CounterState> = {
  settle(state: CounterState | undefined, settlement: Settlement, now: number) {
    const { position, reserved, actual, params } = settlement
    const [window = 1, segments = 1] = params
    const isMore = actual > reserved
    if (state === undefined && !isMore) return undefined
    const { index, counts } = isMore ? current(state, params, now) : (state as CounterState)
    const charged = index - position
    const isCounted = charged >= 0 && charged < counts.length
    if (!isCounted && !isMore) return undefined
    const segment = isCounted ? charged : 0
    const count = counts[segment] ?? 0
    // The count may have been reset since.
    const corrected = Math.max(0, count + actual - reserved)
    const isOver = !isMore && Math.floor((now * segments) / window) - position > segments
    const applied = isOver ? 0 : corrected - count
    return { ...withExpiry(index, counts.with(segment, corrected), params), applied }
  },

  lua([window = 1, segments = 1]) {
    const length = window / segments
    const { read, write, expiring } = luaPieces(window, segments)
    return `${read(`actual > reserved and math.floor(now / ${length}) or nil`)}
local place = index and index - position + 1
if place and (place < 1 or place > ${segments + 1}) then place = actual > reserved and 1 or nil end
if place then
  local count = counts[place]
  counts[place] = math.max(0, count + actual - reserved)
  applied = counts[place] - count
  if actual > reserved then
    ${expiring}
  elseif applied ~= 0 then
    ${write}
    redis.call('SET', key, value, 'KEEPTTL')
    if math.floor(now / ${length}) - position > ${segments} then applied = 0 end
  end
end`
  },
}

/** Lua for both scripts: reads the counts, of segment `index` or later; writes them; also with a new expiry. */
function luaPieces(window: number, segments: number) {
  const length = window / segments
  const read = (
    index: string,
  ): string => `local counts, index, stored = {}, ${index}, redis.call('GET', key)
for place = 1, ${segments + 1} do counts[place] = 0 end
if stored then
  if not string.find(stored, '^c%d+:[%d:]*%d$') then ${FOREIGN} end
  local place, first
  for number in string.gmatch(stored, '%d+') do
    number = tonumber(number)
    if not first then
      first = number
      index = math.max(index or first, first)
      place = index - first
    elseif place > ${segments} + index - first then
      ${FOREIGN}
    else
      place = place + 1
      if place <= ${segments + 1} then counts[place] = number end
    end
  end
end`
  const write = `local value = ''
for place = ${segments + 1}, 1, -1 do
  if value ~= '' or counts[place] > 0 then value = string.format(':%.0f', counts[place]) .. value end
end
value = string.format('c%.0f', index) .. (value == '' and ':0' or value)`
  const expiring = `${write}
local gone = (index + ${segments + 1}) * ${length} + ${window}
redis.call('SET', key, value, own and 'PXAT' or 'PX', own and gone or gone - now + slack)`
  return { read, write, expiring }
}

/** Returns the state. It expires a window after the last count has left the window. */
function withExpiry(
  index: number,
  counts: readonly number[],
  [window = 1, segments = 1]: readonly number[],
) {
  const goneAt = (index + segments + 1) * (window / segments)
  return { state: { index, counts }, expiresAt: goneAt + window }
}

/** Returns the counts of the current segment and those before it. A later stored segment counts as current. */
function current(
  state: CounterState | undefined,
  [window = 1, segments = 1]: readonly number[],
  now: number,
): CounterState {
  const index = Math.max(Math.floor(now / (window / segments)), state?.index ?? 0)
  const later = index - (state?.index ?? index)
  const counts: number[] = []
  for (let segment = 0; segment <= segments; segment += 1) {
    counts.push(state?.counts[segment - later] ?? 0)
  }
  return { index, counts }
}

/* The scripts that run on the state of a queue: functions, so that a bundle has only those that it uses. */
import { OPEN } from './lua-state.ts'
import { MAX_DUE, OLDEST_JOBS, OLDEST_LOOKS } from './requests.ts'

/** Adds jobs. ARGV from 3: the most jobs; for each its id, flow, length, priority, delay, longest wait, payload. */
export const addScript = (): string => `${OPEN}local replies, room, payloads = {}, nil, {}
for at = 4, #ARGV, 7 do
  local id, flow, length, priority, delay, longest, payload = unpack(ARGV, at, at + 6)
  if find(id) then replies[#replies + 1] = 'known'
  else
    room = room or tonumber(ARGV[3]) - redis.call('HLEN', STATES)
    if room <= 0 then replies[#replies + 1] = 'full'
    else
      room, queue.sequence = room - 1, queue.sequence + 1
      delay, longest = tonumber(delay), tonumber(longest)
      local job = { id = id, where = 'nowhere', priority = priority, order = string.format('%015.0f', queue.sequence),
        length = tonumber(length), claims = 0, attempts = 0, lostFrom = 1, deadline = longest > 0 and now + longest or 0,
        flow = flow, rest = '' }
      jobs[id] = job
      append(payloads, { id, payload })
      if delay > 0 then keep(job, 'later', delay) else wait(job, 'waiting') end
      if longest > 0 then timers[letters.waited_too_long .. id] = job.deadline end
      replies[#replies + 1] = 'added'
    end
  end
end
send('HSET', PAYLOADS, payloads)
save()
return replies
`

/** Lua that lets the jobs of a flow run again, and that ends a job whose time is up. */
const MOVE_JOBS = `local function unpark(flow)
  if flow.status ~= 'parked' then return end
  timers[letters.parked .. flow.name] = false
  admit(flow)
end
local function die(job, why, text)
  withdraw(job)
  job.where, job.rest = 'dead', why .. ' ' .. text
  redis.call('ZADD', DEAD, whole(now), job.id)
  timers[letters.grave .. job.id] = now + keepDead
  died[#died + 1] = job.id
end
local function waitAgain(job, where)
  if job.deadline > 0 and job.deadline <= now then
    die(job, 'waited_too_long', '')
  else
    wait(job, where)
  end
end
`

/** Lua that takes the results of workers. */
const TAKE_RESULTS = `for at = 7, #ARGV, 7 do
  local kind, id, claim, delay, flag, held, text = unpack(ARGV, at, at + 6)
  delay = tonumber(delay)
  local job = find(id)
  if not job or job.where == 'nowhere' then taken[#taken + 1] = 'gone'
  elseif job.claims ~= tonumber(claim) then taken[#taken + 1] = 'lost'
  elseif job.where == 'unsettled' then
    taken[#taken + 1] = 'taken'
    if kind == 'settled' then
      withdraw(job)
      queue.pausedUntil = math.min(queue.pausedUntil, now)
      unpark(flowOf(job.flow))
    end
  elseif kind == 'settled' or job.where ~= 'running' and job.where ~= 'abandoned' then taken[#taken + 1] = 'gone'
  else
    taken[#taken + 1] = 'taken'
    leave(job)
    if kind == 'done' then
      withdraw(job)
      job.deadline, job.rest = 0, text
      keep(job, 'unsettled', lease)
    elseif kind == 'failed' then
      job.lostFrom, job.rest = job.claims + 1, held
      if flag == '1' or job.attempts >= maxAttempts then
        die(job, 'failed', text)
      else
        keep(job, 'later', delay)
      end
    elseif kind == 'back' then
      local flow = flowOf(job.flow)
      job.attempts = job.attempts - 1
      if flag == '1' then job.lostFrom = job.claims + 1 end
      if held ~= '' then job.rest = held end
      flow.tag = math.max(0, flow.tag - job.length)
      if flow.status == 'active' then redis.call('ZADD', ORDER, whole(flow.tag), flow.name) end
      waitAgain(job, 'waiting')
      if text == 'flow' and flow.status ~= 'empty' then
        if flow.status == 'active' then redis.call('ZREM', ORDER, flow.name) end
        flow.status = 'parked'
        timers[letters.parked .. flow.name] = now + delay
      elseif text == 'queue' then
        queue.pausedUntil = math.max(queue.pausedUntil, now + delay)
      end
    else
      keep(job, 'running', lease)
    end
  end
end
`

/** Lua that handles one timer. */
const RING = `local function ring(member)
  timers[member] = false
  local timer, name = words[string.sub(member, 1, 1)], string.sub(member, 2)
  if timer == 'parked' then return unpark(flowOf(name)) end
  if timer == 'forgotten' then
    local flow = flowOf(name)
    if flow.status == 'empty' then flow.forgotten, flow.tag = true, 0 end
    return
  end
  local job = find(name)
  if not job then return end
  if timer == 'running' then
    leave(job)
    if job.attempts >= maxAttempts then die(job, 'lost', '') else waitAgain(job, 'abandoned') end
  elseif timer == 'unsettled' then
    timers[member] = now + lease
    append(unsettled, { name, job.claims, job.rest })
  elseif timer == 'later' then
    leave(job)
    waitAgain(job, 'waiting')
  elseif timer == 'grave' then
    withdraw(job)
  elseif job.where ~= 'running' then
    die(job, 'waited_too_long', '')
  end
end
`

/** Lua that claims the first job of the flow whose turn it is, until enough are claimed. */
const CLAIM_JOBS = `local claimed = {}
local open = queue.pausedUntil <= now
while open and most > #claimed / 7 do
  local first = redis.call('ZRANGE', ORDER, 0, 0, 'WITHSCORES')
  if #first == 0 then break end
  local flow = flowOf(first[1])
  local heads = firstOf(flow.name, 2)
  local job = find(string.match(heads[1], '^[^|]*|%d+|(.*)$'))
  if job.deadline > 0 and job.deadline <= now then die(job, 'waited_too_long', '')
  else
    redis.call('ZREM', WAITING, heads[1])
    queue.virtualTime = math.max(queue.virtualTime, flow.tag)
    flow.tag = flow.tag + job.length
    if heads[2] then redis.call('ZADD', ORDER, whole(flow.tag), flow.name) else empty(flow) end
    job.claims, job.attempts = job.claims + 1, job.attempts + 1
    keep(job, 'running', lease)
    local payload = redis.call('HGET', PAYLOADS, job.id)
    append(claimed, { job.id, job.flow, job.claims, job.attempts, job.lostFrom, job.rest, payload })
  end
end
`

/**
 * Takes results, handles the timers that no result has changed, claims jobs. ARGV from 3: the most jobs to claim, the
 * lease, the most attempts, the time to keep the dead; for each result its kind, id, claim, delay, 1 if it is final or
 * clean, the reservation held, and its error, settlement or `who`.
 */
export const turnScript =
  (): string => `${OPEN}local most, lease, maxAttempts = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local keepDead, taken, unsettled, died = tonumber(ARGV[6]), {}, {}, {}
${MOVE_JOBS}${TAKE_RESULTS}${RING}for _, member in ipairs(redis.call('ZRANGEBYSCORE', TIMERS, '-inf', whole(now), 'LIMIT', 0, ${MAX_DUE})) do
  if timers[member] == nil then ring(member) end
end
${CLAIM_JOBS}save()
local nextAt = -1
local timer = redis.call('ZRANGE', TIMERS, 0, 0, 'WITHSCORES')
if timer[2] then nextAt = tonumber(timer[2]) end
if not open and (nextAt < 0 or queue.pausedUntil < nextAt) then nextAt = queue.pausedUntil end
return { now, nextAt, taken, claimed, unsettled, died }
`

/**
 * Counts, finds the oldest that waits, and lists the dead. ARGV from 3: the first and the last of them. The jobs of one
 * flow and priority are in a line by age: one look at its oldest is enough.
 */
export const lookScript = (): string => `${OPEN}local oldest, order, from = '', nil, '-'
for _ = 1, ${OLDEST_LOOKS} do
  local members = redis.call('ZRANGEBYLEX', WAITING, from, '+', 'LIMIT', 0, ${OLDEST_JOBS})
  for _, member in ipairs(members) do
    local at, id = string.match(member, '^[^|]*|%d(%d+)|(.*)$')
    if not order or at < order then order, oldest = at, id end
  end
  if #members < ${OLDEST_JOBS} then break end
  from = '[' .. string.match(members[#members], '^[^|]*|%d') .. ':'
end
if order then oldest = redis.call('HGET', PAYLOADS, oldest) or '' end
local ids = redis.call('ZRANGE', DEAD, ARGV[3], ARGV[4], 'WITHSCORES')
local entries = {}
for at = 1, #ids, 2 do
  local job = find(ids[at])
  append(entries, { job.id, ids[at + 1], job.attempts, job.rest, redis.call('HGET', PAYLOADS, job.id) })
end
return { redis.call('ZCARD', WAITING), queue.later, queue.running + queue.unsettled, redis.call('ZCARD', DEAD), oldest, entries }
`

/** Removes jobs that do not run, or has dead ones wait again. ARGV from 3: which, and the ids. */
export const editScript = (): string => `${OPEN}local edited = 0
for at = 4, #ARGV do
  local job = find(ARGV[at])
  if job and job.where ~= 'nowhere' then
    if ARGV[3] == 'retry' and job.where == 'dead' then
      leave(job)
      job.attempts, job.deadline, job.lostFrom, job.rest = 0, 0, job.claims + 1, ''
      wait(job, 'waiting')
      edited = edited + 1
    elseif ARGV[3] == 'remove' and job.where ~= 'running' and job.where ~= 'unsettled' then
      withdraw(job)
      edited = edited + 1
    end
  end
end
save()
return edited
`

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
      room, seq = room - 1, seq + 1
      delay, longest = tonumber(delay), tonumber(longest)
      local job = { id = id, where = 'l', before = '', priority = priority, order = string.format('%015.0f', seq),
        length = tonumber(length), claims = 0, attempts = 0, lost = 1, deadline = longest > 0 and now + longest or 0,
        flow = flow, rest = '' }
      jobs[id] = job
      payloads[#payloads + 1] = id
      payloads[#payloads + 1] = payload
      if delay > 0 then timers['l' .. id] = now + delay else wait(job, 'w') end
      if longest > 0 then timers['x' .. id] = job.deadline end
      replies[#replies + 1] = 'added'
    end
  end
end
if #payloads > 0 then redis.call('HSET', PAYLOADS, unpack(payloads)) end
save()
return replies
`

/**
 * Takes results, handles timers, claims jobs. ARGV from 3: the most jobs to claim, the lease, the most attempts, the
 * time to keep the dead; for each result its kind, id, claim and four more.
 */
export const turnScript =
  (): string => `${OPEN}local most, lease, maxAttempts = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
keepDead = tonumber(ARGV[6])
local taken, unsettled = {}, {}
for at = 7, #ARGV, 7 do
  local kind, id, claim, one, two, three, four = unpack(ARGV, at, at + 6)
  local job = find(id)
  if not job or job.where == 'gone' then taken[#taken + 1] = 'gone'
  elseif job.claims ~= tonumber(claim) then taken[#taken + 1] = 'lost'
  elseif job.where == 's' then
    taken[#taken + 1] = 'taken'
    if kind == 'settled' then
      delete(job)
      -- What it has given back may be what others wait for.
      pause = math.min(pause, now)
      local flow = flowOf(job.flow)
      if flow.status == 'p' then
        timers['p' .. flow.name] = false
        admit(flow)
      end
    end
  elseif kind == 'settled' or job.where ~= 'r' and job.where ~= 'v' then taken[#taken + 1] = 'gone'
  else
    taken[#taken + 1] = 'taken'
    leave(job)
    if kind == 'done' then
      if job.deadline > 0 then timers['x' .. id] = false end
      job.where, job.deadline, job.rest = 's', 0, one
      timers['s' .. id] = now + lease
    elseif kind == 'failed' then
      job.lost, job.rest = job.claims + 1, three
      if two == '1' or job.attempts >= maxAttempts then
        job.where = ''
        die(job, 'failed', four)
      else
        job.where = 'l'
        timers['l' .. id] = now + tonumber(one)
      end
    elseif kind == 'back' then
      local flow = flowOf(job.flow)
      job.attempts = job.attempts - 1
      if three == '1' then job.lost = job.claims + 1 end
      if four ~= '' then job.rest = four end
      flow.tag = math.max(0, flow.tag - job.length)
      if flow.status == 'a' then redis.call('ZADD', ORDER, whole(flow.tag), flow.name) end
      job.where = ''
      returned(job, 'w')
      if one == 'flow' and flow.status ~= 'e' then
        if flow.status == 'a' then redis.call('ZREM', ORDER, flow.name) end
        flow.status = 'p'
        timers['p' .. flow.name] = now + tonumber(two)
      elseif one == 'queue' then
        pause = math.max(pause, now + tonumber(two))
      end
    else
      job.where = 'r'
      timers['r' .. id] = now + lease
    end
  end
end
local due = redis.call('ZRANGEBYSCORE', TIMERS, '-inf', whole(now), 'LIMIT', 0, ${MAX_DUE})
for _, member in ipairs(due) do
  -- A result may have changed it.
  if timers[member] == nil then
    timers[member] = false
    local kind, name = string.sub(member, 1, 1), string.sub(member, 2)
    if kind == 'p' then
      local flow = flowOf(name)
      if flow.status == 'p' then admit(flow) end
    elseif kind == 'f' then
      local flow = flowOf(name)
      if flow.status == 'e' then flow.forgotten, flow.tag = true, 0 end
    else
      local job = find(name)
      if not job then
        -- Nothing is left of it.
      elseif kind == 'r' then
        leave(job)
        job.where = ''
        if job.attempts >= maxAttempts then die(job, 'lost', '') else returned(job, 'v') end
      elseif kind == 's' then
        timers[member] = now + lease
        for _, part in ipairs({ name, job.claims, job.rest }) do unsettled[#unsettled + 1] = part end
      elseif kind == 'l' then
        leave(job)
        job.where = ''
        returned(job, 'w')
      elseif kind == 'x' then
        if job.where ~= 'r' then die(job, 'waited_too_long', '') end
      else delete(job) end
    end
  end
end
local claimed = {}
local open = pause <= now
while open and most > #claimed / 7 do
  local first = redis.call('ZRANGE', ORDER, 0, 0, 'WITHSCORES')
  if #first == 0 then break end
  local flow = flowOf(first[1])
  local heads = firstOf(flow.name, 2)
  local job = find(string.match(heads[1], '^[^|]*|%d+|(.*)$'))
  if job.deadline > 0 and job.deadline <= now then die(job, 'waited_too_long', '')
  else
    redis.call('ZREM', WAITING, heads[1])
    v = math.max(v, flow.tag)
    flow.tag = flow.tag + job.length
    if heads[2] then redis.call('ZADD', ORDER, whole(flow.tag), flow.name) else rest(flow) end
    job.where, job.claims, job.attempts = 'r', job.claims + 1, job.attempts + 1
    timers['r' .. job.id] = now + lease
    local payload = redis.call('HGET', PAYLOADS, job.id)
    for _, part in ipairs({ job.id, job.flow, job.claims, job.attempts, job.lost, job.rest, payload }) do
      claimed[#claimed + 1] = part
    end
  end
end
save()
local nextAt = -1
local timer = redis.call('ZRANGE', TIMERS, 0, 0, 'WITHSCORES')
if timer[2] then nextAt = tonumber(timer[2]) end
if not open and (nextAt < 0 or pause < nextAt) then nextAt = pause end
return { now, nextAt, taken, claimed, unsettled, died }
`

/**
 * Counts, finds the oldest that waits, and lists the dead. ARGV from 3: the first and the last of them. The jobs of one
 * priority are in a line by age.
 */
export const lookScript = (): string => `${OPEN}local oldest, order, from = '', nil, '-'
for _ = 1, ${OLDEST_LOOKS} do
  local members = redis.call('ZRANGEBYLEX', WAITING, from, '+', 'LIMIT', 0, ${OLDEST_JOBS})
  for _, member in ipairs(members) do
    local at, id = string.match(member, '^[^|]*|%d(%d+)|(.*)$')
    if not order or at < order then order, oldest = at, id end
  end
  if #members < ${OLDEST_JOBS} then break end
  -- What follows of this line and priority is younger.
  from = '[' .. string.match(members[#members], '^[^|]*|%d') .. ':'
end
if order then oldest = redis.call('HGET', PAYLOADS, oldest) or '' end
local ids = redis.call('ZRANGE', DEAD, ARGV[3], ARGV[4], 'WITHSCORES')
local entries = {}
for at = 1, #ids, 2 do
  local job = find(ids[at])
  for _, part in ipairs({ job.id, ids[at + 1], job.attempts, job.rest, redis.call('HGET', PAYLOADS, job.id) }) do
    entries[#entries + 1] = part
  end
end
return { redis.call('ZCARD', WAITING), counts.l, counts.r + counts.s, redis.call('ZCARD', DEAD), oldest, entries }
`

/** Removes jobs that do not run, or has dead ones wait again. ARGV from 3: which, and the ids. */
export const editScript = (): string => `${OPEN}local edited = 0
for at = 4, #ARGV do
  local job = find(ARGV[at])
  if job and job.where ~= 'gone' then
    if ARGV[3] == 'retry' and job.where == 'd' then
      leave(job)
      job.attempts, job.deadline, job.lost, job.rest, job.where = 0, 0, job.claims + 1, '', ''
      wait(job, 'w')
      edited = edited + 1
    elseif ARGV[3] == 'remove' and job.where ~= 'r' and job.where ~= 's' then
      delete(job)
      edited = edited + 1
    end
  end
end
save()
return edited
`

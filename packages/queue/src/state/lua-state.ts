/*
 * The state of a queue in Redis. KEYS: a hash of the queue's own values and of its flows; the flows that may run, by
 * virtual time; the jobs that wait, by flow and order (all of score 0); timers, by time; the payloads; the states; the dead.
 * It must do as `QueueModel` does.
 *
 * A state is `where|priority|order|length|claims|attempts|lostFrom|deadline|flow|rest`. Where: (w)aiting, (v) waiting
 * because its worker was lost, (r)unning, (s) has run and is not settled, (l)ater, (d)ead. A timer's first letter: (r)unning
 * lease, (s)ettle, (l)ater, (x) longest wait, (p)arked flow, (f)orget a flow, (g) forget a dead job.
 */
import { FORGET_FLOW_MS } from './requests.ts'

/** Lua that opens the state, and what changes it; `save` writes what has changed. ARGV: the caller's time, and `injected` if it decides. */
export const OPEN: string = `local META, ORDER, WAITING, TIMERS, PAYLOADS, STATES, DEAD = unpack(KEYS)
local now = tonumber(ARGV[1])
if ARGV[2] ~= 'injected' then
  local time = redis.pcall('TIME')
  if not time.err then now = time[1] * 1000 + (time[2] - time[2] % 1000) / 1000 end
end
local values = redis.call('HMGET', META, 'v', 'seq', 'pause', 'r', 's', 'l')
local v, seq, pause = tonumber(values[1] or 0), tonumber(values[2] or 0), tonumber(values[3] or 0)
local counts = { r = tonumber(values[4] or 0), s = tonumber(values[5] or 0), l = tonumber(values[6] or 0) }
local jobs, flows, timers, died = {}, {}, {}, {}
local keepDead = 0
local function whole(number) return string.format('%.0f', number) end
local function find(id)
  local job = jobs[id]
  if job == nil then
    local text = redis.call('HGET', STATES, id)
    job = false
    if text then
      local where, priority, order, length, claims, attempts, lost, deadline, flow, rest =
        string.match(text, '^(%a)|(%d)|(%d+)|(%d+)|(%d+)|(%d+)|(%d+)|(%d+)|([^|]*)|(.*)$')
      job = { id = id, where = where, before = where, priority = priority, order = order, length = tonumber(length),
        claims = tonumber(claims), attempts = tonumber(attempts), lost = tonumber(lost),
        deadline = tonumber(deadline), flow = flow, rest = rest, text = text }
    end
    jobs[id] = job
  end
  return job
end
local function flowOf(name)
  local flow = flows[name]
  if not flow then
    local text = redis.call('HGET', META, 'f:' .. name)
    local status, tag = string.match(text or 'e 0', '^(%a) (%d+)$')
    flow = { name = name, status = status, tag = tonumber(tag), text = text }
    flows[name] = flow
  end
  return flow
end
local function memberOf(job) return job.flow .. '|' .. job.priority .. job.order .. '|' .. job.id end
local function firstOf(name, count)
  return redis.call('ZRANGEBYLEX', WAITING, '[' .. name .. '|', '(' .. name .. '}', 'LIMIT', 0, count)
end
local function admit(flow)
  flow.status, flow.tag, flow.forgotten = 'a', math.max(v, flow.tag), false
  redis.call('ZADD', ORDER, whole(flow.tag), flow.name)
end
local function wait(job, where)
  job.where = where
  redis.call('ZADD', WAITING, 0, memberOf(job))
  local flow = flowOf(job.flow)
  if flow.status == 'e' then
    timers['f' .. flow.name] = false
    admit(flow)
  end
end
local function rest(flow)
  if flow.status == 'a' then redis.call('ZREM', ORDER, flow.name) end
  if flow.status == 'p' then timers['p' .. flow.name] = false end
  flow.status = 'e'
  timers['f' .. flow.name] = now + ${FORGET_FLOW_MS}
end
local function unwait(job)
  redis.call('ZREM', WAITING, memberOf(job))
  if #firstOf(job.flow, 1) == 0 then rest(flowOf(job.flow)) end
end
local function leave(job)
  if job.where == 'w' or job.where == 'v' then unwait(job) end
  if job.where == 'r' or job.where == 's' or job.where == 'l' then timers[job.where .. job.id] = false end
  if job.where == 'd' then
    redis.call('ZREM', DEAD, job.id)
    timers['g' .. job.id] = false
  end
end
local function delete(job)
  leave(job)
  if job.deadline > 0 and job.where ~= 'd' then timers['x' .. job.id] = false end
  job.where = 'gone'
end
local function die(job, why, text)
  leave(job)
  if job.deadline > 0 then timers['x' .. job.id] = false end
  job.where, job.rest = 'd', why .. ' ' .. text
  redis.call('ZADD', DEAD, whole(now), job.id)
  timers['g' .. job.id] = now + keepDead
  died[#died + 1] = job.id
end
local function returned(job, where)
  if job.deadline > 0 and job.deadline <= now then
    die(job, 'waited_too_long', '')
  else
    wait(job, where)
  end
end
local function save()
  local sets, gone, metas, forgotten, added, removed = {}, {}, {}, {}, {}, {}
  for id, job in pairs(jobs) do
    if job then
      if counts[job.before] then counts[job.before] = counts[job.before] - 1 end
      if counts[job.where] then counts[job.where] = counts[job.where] + 1 end
      if job.where == 'gone' then gone[#gone + 1] = id
      else
        local text = table.concat({ job.where, job.priority, job.order, whole(job.length), whole(job.claims),
          whole(job.attempts), whole(job.lost), whole(job.deadline), job.flow, job.rest }, '|')
        if text ~= job.text then
          sets[#sets + 1] = id
          sets[#sets + 1] = text
        end
      end
    end
  end
  local function meta(name, value, before)
    if value == before then return end
    metas[#metas + 1] = name
    metas[#metas + 1] = value
  end
  meta('v', whole(v), values[1] or '0')
  meta('seq', whole(seq), values[2] or '0')
  meta('pause', whole(pause), values[3] or '0')
  meta('r', whole(counts.r), values[4] or '0')
  meta('s', whole(counts.s), values[5] or '0')
  meta('l', whole(counts.l), values[6] or '0')
  for name, flow in pairs(flows) do
    if flow.forgotten then forgotten[#forgotten + 1] = 'f:' .. name
    else meta('f:' .. name, flow.status .. ' ' .. whole(flow.tag), flow.text or 'e 0') end
  end
  for member, at in pairs(timers) do
    if at then
      added[#added + 1] = whole(at)
      added[#added + 1] = member
    else removed[#removed + 1] = member end
  end
  if #sets > 0 then redis.call('HSET', STATES, unpack(sets)) end
  if #gone > 0 then
    redis.call('HDEL', STATES, unpack(gone))
    redis.call('HDEL', PAYLOADS, unpack(gone))
  end
  if #metas > 0 then redis.call('HSET', META, unpack(metas)) end
  if #forgotten > 0 then redis.call('HDEL', META, unpack(forgotten)) end
  if #added > 0 then redis.call('ZADD', TIMERS, unpack(added)) end
  if #removed > 0 then redis.call('ZREM', TIMERS, unpack(removed)) end
end
`

/*
 * The state of a queue in Redis. KEYS: a hash of the queue's own values and of its flows; the flows that may run, by
 * virtual time; the jobs that wait, by flow and order (all of score 0); timers, by time; the payloads; the states; the dead.
 * It must do as `QueueModel` does, whose words it has: letters are for what is stored.
 *
 * A state is `where|priority|order|length|claims|attempts|lostFrom|deadline|flow|rest`.
 */
import { FORGET_FLOW_MS } from './requests.ts'

/** Lua that opens the state, and what changes it; `save` writes what has changed. ARGV: the caller's time, and `injected` if it decides. */
export const OPEN: string = `local META, ORDER, WAITING, TIMERS, PAYLOADS, STATES, DEAD = unpack(KEYS)
local now = tonumber(ARGV[1])
if ARGV[2] ~= 'injected' then
  local time = redis.pcall('TIME')
  if not time.err then now = time[1] * 1000 + (time[2] - time[2] % 1000) / 1000 end
end
local letters = { waiting = 'w', abandoned = 'v', running = 'r', unsettled = 's', later = 'l', dead = 'd',
  active = 'a', parked = 'p', empty = 'e', waited_too_long = 'x', grave = 'g', forgotten = 'f' }
local words = {}
for word, letter in pairs(letters) do words[letter] = word end
local names = { 'virtualTime', 'sequence', 'pausedUntil', 'running', 'unsettled', 'later' }
local fields = { 'v', 'seq', 'pause', 'r', 's', 'l' }
local values, queue = redis.call('HMGET', META, unpack(fields)), {}
for at, name in ipairs(names) do queue[name] = tonumber(values[at] or 0) end
local jobs, flows, timers = {}, {}, {}
local function whole(number) return string.format('%.0f', number) end
local function append(list, parts)
  for _, part in ipairs(parts) do list[#list + 1] = part end
end
local function send(command, key, parts)
  if #parts > 0 then redis.call(command, key, unpack(parts)) end
end
local function find(id)
  local job = jobs[id]
  if job == nil then
    local text = redis.call('HGET', STATES, id)
    job = false
    if text then
      local letter, priority, order, length, claims, attempts, lostFrom, deadline, flow, rest =
        string.match(text, '^(%a)|(%d)|(%d+)|(%d+)|(%d+)|(%d+)|(%d+)|(%d+)|([^|]*)|(.*)$')
      job = { id = id, where = words[letter], before = words[letter], priority = priority, order = order,
        length = tonumber(length), claims = tonumber(claims), attempts = tonumber(attempts), lostFrom = tonumber(lostFrom),
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
    local letter, tag = string.match(text or 'e 0', '^(%a) (%d+)$')
    flow = { name = name, status = words[letter], tag = tonumber(tag), text = text }
    flows[name] = flow
  end
  return flow
end
local function memberOf(job) return job.flow .. '|' .. job.priority .. job.order .. '|' .. job.id end
local function firstOf(name, count)
  return redis.call('ZRANGEBYLEX', WAITING, '[' .. name .. '|', '(' .. name .. '}', 'LIMIT', 0, count)
end
local function admit(flow)
  flow.status, flow.tag, flow.forgotten = 'active', math.max(queue.virtualTime, flow.tag), false
  redis.call('ZADD', ORDER, whole(flow.tag), flow.name)
end
local function wait(job, where)
  job.where = where
  redis.call('ZADD', WAITING, 0, memberOf(job))
  local flow = flowOf(job.flow)
  if flow.status == 'empty' then
    timers[letters.forgotten .. flow.name] = false
    admit(flow)
  end
end
local function empty(flow)
  if flow.status == 'active' then redis.call('ZREM', ORDER, flow.name) end
  if flow.status == 'parked' then timers[letters.parked .. flow.name] = false end
  flow.status = 'empty'
  timers[letters.forgotten .. flow.name] = now + ${FORGET_FLOW_MS}
end
local function keep(job, where, ms)
  job.where = where
  timers[letters[where] .. job.id] = now + ms
end
local function unwait(job)
  redis.call('ZREM', WAITING, memberOf(job))
  if #firstOf(job.flow, 1) == 0 then empty(flowOf(job.flow)) end
end
local function leave(job)
  local where = job.where
  job.where = 'nowhere'
  if where == 'waiting' or where == 'abandoned' then unwait(job) end
  if queue[where] then timers[letters[where] .. job.id] = false end
  if where == 'dead' then
    redis.call('ZREM', DEAD, job.id)
    timers[letters.grave .. job.id] = false
  end
end
local function withdraw(job)
  if job.deadline > 0 then timers[letters.waited_too_long .. job.id] = false end
  leave(job)
end
local function save()
  local sets, gone, metas, forgotten, added, removed = {}, {}, {}, {}, {}, {}
  for id, job in pairs(jobs) do
    if job then
      if queue[job.before] then queue[job.before] = queue[job.before] - 1 end
      if queue[job.where] then queue[job.where] = queue[job.where] + 1 end
      if job.where == 'nowhere' then gone[#gone + 1] = id
      else
        local text = table.concat({ letters[job.where], job.priority, job.order, whole(job.length), whole(job.claims),
          whole(job.attempts), whole(job.lostFrom), whole(job.deadline), job.flow, job.rest }, '|')
        if text ~= job.text then append(sets, { id, text }) end
      end
    end
  end
  local function meta(name, value, before)
    if value ~= before then append(metas, { name, value }) end
  end
  for at, name in ipairs(names) do meta(fields[at], whole(queue[name]), values[at] or '0') end
  for name, flow in pairs(flows) do
    if flow.forgotten then forgotten[#forgotten + 1] = 'f:' .. name
    else meta('f:' .. name, letters[flow.status] .. ' ' .. whole(flow.tag), flow.text or 'e 0') end
  end
  for member, at in pairs(timers) do
    if at then append(added, { whole(at), member }) else removed[#removed + 1] = member end
  end
  send('HSET', STATES, sets)
  send('HDEL', STATES, gone)
  send('HDEL', PAYLOADS, gone)
  send('HSET', META, metas)
  send('HDEL', META, forgotten)
  send('ZADD', TIMERS, added)
  send('ZREM', TIMERS, removed)
end
`

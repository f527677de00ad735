local now, own, slack, skewed = tonumber(ARGV[1]), false, 60000, false
if ARGV[2] == 'injected' then
  slack = 86400000
elseif ARGV[2] == 'own' then
  local time = redis.pcall('TIME')
  if time.err then
    skewed = true
  else
    now, own, slack = time[1] * 1000 + (time[2] - time[2] % 1000) / 1000, true, 0
  end
end
if not (now >= 0 and now <= 2^53 and now % 1 == 0) then error('bad argument') end
local id, k, go = ARGV[3], 0, ARGV[10] == '1'
local reply = { now, 0, 0, 0, 0, 0, 0, 0, 0 }
local key_1, charge_1, finish_1, used_1, key_2, charge_2, total_2, prune_2, expire_2
if ARGV[4] ~= '-' then
  k = k + 1
  local key, enforcing, unfit = KEYS[k], false, false
  key_1 = key
  if ARGV[4] ~= '-' then
    -- daily: fixed 86400000
    local enforced, limit, cost = ARGV[4] == 'e', tonumber(ARGV[5]), tonumber(ARGV[6])
    if not (limit >= 0 and limit <= 100000000000000 and limit % 1 == 0 and cost >= 0 and cost <= 100000000000000 and cost % 1 == 0) then error('bad argument') end
    local fits, available, reset, retry, wait = false, 0, 0, 0, 0
    local finish = now - now % 86400000 + 86400000
    local used, stored = 0, redis.call('GET', key)
    if stored then
      local ending, count = string.match(stored, '^w(%d+):(%d+)$')
      if not ending then error('the key holds something else') end
      ending = tonumber(ending)
      if ending > now then finish, used = ending, tonumber(count) end
    end
    fits = cost == 0 or used + cost <= limit
    available, reset = limit - used, finish - now
    if not fits then retry = cost > limit and -1 or reset end
    finish_1, used_1 = finish, used
    enforcing = enforcing or enforced
    unfit = unfit or not fits
    if enforced and not fits then go = false end
    charge_1 = cost > 0 and cost
    reply[2] = fits and 1 or 0
    reply[3] = available > 0 and available or 0
    reply[4], reply[5] = reset, fits and wait or retry
  end
  if unfit and not enforcing then charge_1 = nil end
end
if ARGV[7] ~= '-' then
  k = k + 1
  local key, enforcing, unfit = KEYS[k], false, false
  key_2 = key
  if ARGV[7] ~= '-' then
    -- rpm: sliding 60000
    local enforced, limit, cost = ARGV[7] == 'e', tonumber(ARGV[8]), tonumber(ARGV[9])
    if not (limit >= 0 and limit <= 100000000000000 and limit % 1 == 0 and cost >= 0 and cost <= 100000000000000 and cost % 1 == 0) then error('bad argument') end
    local fits, available, reset, retry, wait = false, 0, 0, 0, 0
    local cutoff, rows = now - 60000, redis.call('ZRANGE', key, 0, 16, 'WITHSCORES')
    local total, oldest = 0, tonumber(rows[4])
    if rows[1] then
      total = -rows[2]
      if rows[1] ~= '#' or total < 1 or total % 1 ~= 0 then error('the key holds something else') end
    end
    local used, expired, freed, first, freed_at = total, 0, 0
    local row, rank, full = 3, 17, 34
    while true do
      local at = tonumber(rows[row + 1])
      if at then
        local units = string.match(rows[row], '^%w+:?(%d*)$')
        if not units then error('the key holds something else') end
        units = tonumber(units) or 1
        if at <= cutoff then
          used, expired = used - units, expired + 1
        else
          first = first or at
          if cost == 0 or used + cost <= limit or cost > limit then break end
          freed = freed + units
          if freed >= used + cost - limit then
            freed_at = at
            break
          end
        end
        row = row + 2
      elseif #rows < full then
        break
      else
        freed_at = first and total - used + freed < rank and
          redis.call('ZRANGE', key, total + cost - limit, cost - limit - 1, 'WITHSCORES')[2]
        if freed_at then break end
        rows = redis.call('ZRANGE', key, rank, rank + 511, 'WITHSCORES')
        row, rank, full = 1, rank + 512, 1024
      end
    end
    fits = cost == 0 or used + cost <= limit
    available, reset = limit - used, (first or now) - cutoff
    if not fits then retry = cost > limit and -1 or (freed_at or now) - cutoff end
    prune_2 = expired >= 16 or oldest and oldest <= now - 120000
    total_2, expire_2 = prune_2 and used or total, prune_2 or not oldest or skewed
    enforcing = enforcing or enforced
    unfit = unfit or not fits
    if enforced and not fits then go = false end
    charge_2 = cost > 0 and cost
    reply[6] = fits and 1 or 0
    reply[7] = available > 0 and available or 0
    reply[8], reply[9] = reset, fits and wait or retry
  end
  if unfit and not enforcing then charge_2 = nil end
end
for at = k + 1, #KEYS do
  local arg = 10 + 2 * (at - k)
  local value, is = redis.pcall('HGET', KEYS[at], ARGV[arg - 1]), ARGV[arg]
  value = type(value) == 'string' and value
  reply[9 + at - k] = value
  if is ~= '*' and is ~= (value or '') then go = false end
end
if go then
  if charge_1 then
    local key, cost = key_1, charge_1
    redis.call('SET', key, string.format('w%.0f:%.0f', finish_1, used_1 + cost),
      own and 'PXAT' or 'PX', own and finish_1 or finish_1 - now + slack)
    if ARGV[4] ~= '-' then reply[2] = reply[2] + 2 end
  end
  if charge_2 then
    local key, cost = key_2, charge_2
    if prune_2 then redis.call('ZREMRANGEBYSCORE', key, 0, now - 60000) end
    if redis.call('ZADD', key, -(total_2 + cost), '#', now, cost == 1 and id or string.format('%s:%.0f', id, cost)) == 0 then
      redis.call('ZADD', key, -total_2, '#')
    end
    if expire_2 then redis.call('PEXPIRE', key, 180000 + slack) end
    if ARGV[7] ~= '-' then reply[6] = reply[6] + 2 end
  end
end
return reply

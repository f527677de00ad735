/** The number of counters among which the smallest is looked for: a full hash has too many to look at all. */
const SAMPLE = 100

/**
 * Adds counters. ARGV: the time to keep the mark, the most counters in a hash; for each group the number of its
 * hashes and their TTLs, the number of its counters, and for each its name, the time of its claim or '', its values,
 * and its rank: the position of the value to compare or '', the size, the pool.
 */
export const SCRIPT: string = `if not redis.call('SET', KEYS[1], '1', 'NX', 'PX', ARGV[1]) then return 0 end
local maxCounters, hasOverflowed, at, key = tonumber(ARGV[2]), false, 2, 1
local function argument()
  at = at + 1
  return ARGV[at]
end
local function parseValues(text)
  local values = {}
  for value in string.gmatch(text or '', '[^,]+') do values[#values + 1] = tonumber(value) end
  return values
end
local function add(hash, name, added, isClaim)
  local before, sum = parseValues(hash.values[name]), {}
  for i, value in ipairs(added) do
    local total = value + (before[i] or 0)
    if isClaim and i == 1 then total = math.max(value, before[i] or 0) end
    sum[i] = string.format('%.0f', total)
  end
  hash.values[name] = table.concat(sum, ',')
  hash.changed[name] = true
end
local function readRest(hash, family)
  if hash.values[family] then return end
  hash.values[family] = redis.call('HGET', hash.key, family) or nil
  if not hash.values[family] then hash.size = hash.size + 1 end
end
local function candidatesFor(hash, family, by, pool)
  local kind = family .. by .. pool
  if hash.candidates[kind] then return hash.candidates[kind] end
  local found = {}
  hash.sample = hash.sample or redis.call('HRANDFIELD', hash.key, ${SAMPLE}, 'WITHVALUES')
  for f = 1, #hash.sample, 2 do
    local name, values = hash.sample[f], parseValues(hash.sample[f + 1])
    local isOther = #name > 1 and string.sub(name, 1, 1) == family and not hash.batch[name]
    if isOther and string.find(name, pool, 1, true) then
      found[#found + 1] = { name = name, size = values[by] or 0, values = values }
    end
  end
  table.sort(found, function(a, b) return a.size > b.size or (a.size == b.size and a.name > b.name) end)
  hash.candidates[kind] = found
  return found
end
local function makeRoom(hash, family, counter)
  if not counter.by then return false end
  local candidates = candidatesFor(hash, family, counter.by, counter.pool)
  local smallest = candidates[#candidates]
  if not smallest or counter.size <= smallest.size then return false end
  table.remove(candidates)
  readRest(hash, family)
  add(hash, family, smallest.values, false)
  hash.removed[#hash.removed + 1] = smallest.name
  hash.size = hash.size - 1
  return true
end
local function nameFor(hash, counter)
  local name, family = counter.name, string.sub(counter.name, 1, 1)
  if hash.values[name] then return name end
  hash.sizeBefore = hash.sizeBefore or redis.call('HLEN', hash.key)
  hash.size = hash.size or hash.sizeBefore
  if hash.size < maxCounters or makeRoom(hash, family, counter) then
    hash.size = hash.size + 1
    return name
  end
  hasOverflowed = true
  readRest(hash, family)
  return family
end
while at < #ARGV do
  local ttls, counters, names, batch, rejected = {}, {}, {}, {}, {}
  for h = 1, tonumber(argument()) do ttls[h] = argument() end
  for i = 1, tonumber(argument()) do
    local counter = { name = argument(), claimedAt = tonumber(argument()), values = parseValues(argument()) }
    counter.by, counter.size, counter.pool = tonumber(argument()), tonumber(argument()), argument()
    counters[i], names[i], batch[counter.name] = counter, counter.name, true
  end
  for h, ttl in ipairs(ttls) do
    key = key + 1
    local hash = { key = KEYS[key], batch = batch, values = {}, changed = {}, removed = {}, candidates = {} }
    for i, held in ipairs(redis.call('HMGET', hash.key, unpack(names))) do hash.values[names[i]] = held or nil end
    for i, counter in ipairs(counters) do if not rejected[i] then
      local name = nameFor(hash, counter)
      local claimedUntil = unpack(parseValues(hash.values[name]))
      rejected[i] = h == 1 and counter.claimedAt and counter.claimedAt < (claimedUntil or 0)
      if not rejected[i] then add(hash, name, counter.values, counter.claimedAt) end
    end end
    local fields = {}
    for name in pairs(hash.changed) do
      fields[#fields + 1] = name
      fields[#fields + 1] = hash.values[name]
    end
    if #hash.removed > 0 then redis.call('HDEL', hash.key, unpack(hash.removed)) end
    if #fields > 0 then redis.call('HSET', hash.key, unpack(fields)) end
    if #fields > 0 and hash.sizeBefore == 0 then redis.call('PEXPIRE', hash.key, ttl) end
  end
end
return hasOverflowed and 2 or 1
`

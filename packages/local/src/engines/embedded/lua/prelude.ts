/**
 * The Lua side of scripting: the globals of scripts, and the texts of their errors.
 *
 * It receives the functions of the host and returns a function that runs a compiled script.
 *
 * `redis.call` is a function of the host: a Lua function as the last call of a script would replace
 * the stack frame with the line number for errors.
 */
export const PRELUDE = `
local call, protected_redis_call, sha1hex, watch = ...
local error, getinfo, getmetatable, pcall = error, debug.getinfo, getmetatable, pcall
local rawset, select = rawset, select
local setmetatable, tostring, type, xpcall, unpack = setmetatable, tostring, type, xpcall, unpack
local format, gsub, match, sub = string.format, string.gsub, string.match, string.sub
local ceil, floor = math.ceil, math.floor
local protected = {}

local function readonly()
  error('Attempt to modify a readonly table', 2)
end

local function protect(source, missing)
  local proxy = setmetatable({}, {
    __index = setmetatable(source, { __index = missing }),
    __newindex = readonly,
    __metatable = false,
  })
  protected[proxy] = true
  return proxy
end

local function reply_factory(field)
  return function(text, extra)
    if extra ~= nil or type(text) ~= 'string' then
      return { err = 'ERR wrong number or type of arguments' }
    end
    if field == 'err' then
      text = sub(text, 1, 1) == '-' and sub(text, 2) or text
      if not match(text, ' ') then text = 'ERR ' .. text end
    end
    return { [field] = text }
  end
end

local redis = {
  call = call,
  pcall = protected_redis_call,
  error_reply = reply_factory('err'),
  status_reply = reply_factory('ok'),
  sha1hex = function(text) return sha1hex(tostring(text)) end,
  log = function() end,
  setresp = function(version)
    if version ~= 2 then error('RESP version must be 2 or 3.', 0) end
  end,
  replicate_commands = function() return true end,
  LOG_DEBUG = 0, LOG_VERBOSE = 1, LOG_NOTICE = 2, LOG_WARNING = 3,
}

-- Redis's own pcall returns the text of an error, not its table.
local function unwrap_failure(ok, failure, ...)
  if ok or type(failure) == 'string' then return ok, failure, ... end
  if type(failure) ~= 'table' then return ok, tostring(failure) end
  return ok, type(failure.err) == 'string' and failure.err or 'ERR unknown error'
end

local function protected_call(...)
  return unwrap_failure(pcall(...))
end

-- The host's long has 32 bits, so integers are printed as doubles.
local function format_integers(fmt, ...)
  local args, index = { ... }, 0
  fmt = gsub(fmt, '%%([-+ #0]*%d*%.?%d*)(.)', function(flags, kind)
    if kind == '%' then return end
    index = index + 1
    local number = (kind == 'd' or kind == 'i') and tonumber(args[index])
    if not number or match(flags, '%.') then return end
    args[index] = number < 0 and ceil(number) or floor(number)
    return '%' .. flags .. '.0f'
  end)
  local ok, text = pcall(format, fmt, unpack(args, 1, select('#', ...)))
  if not ok then error((gsub(text, "'%?'", "'format'")), 2) end
  return text
end

-- All matches at once, so that the host watches their time once.
local function gmatch_all(text, pattern)
  local found, at = {}, 0
  gsub(text, gsub(pattern, '^%^', '%%^'), function(...)
    found[#found + 1] = { count = select('#', ...), ... }
  end)
  return function()
    at = at + 1
    if found[at] then return unpack(found[at], 1, found[at].count) end
  end
end

string.format = format_integers
for _, name in ipairs({ 'find', 'match', 'gsub' }) do
  string[name] = watch(name, string[name], string[name])
end
string.gmatch = watch('gmatch', string.gmatch, gmatch_all)
local strings = {}
for name, value in pairs(string) do strings[name] = value end
strings.dump = nil

local base = {
  redis = protect(redis), string = protect(strings), table = protect(table), math = protect(math),
  assert = assert, collectgarbage = collectgarbage, error = error, getmetatable = getmetatable,
  ipairs = ipairs, load = load, loadstring = loadstring, next = next, pairs = pairs, pcall = protected_call,
  rawequal = rawequal, rawget = rawget, select = select, tonumber = tonumber, tostring = tostring,
  type = type, unpack = unpack, xpcall = xpcall, _VERSION = _VERSION, _G = _G,
  rawset = function(target, key, value)
    if protected[target] then readonly() end
    return rawset(target, key, value)
  end,
  setmetatable = function(target, meta)
    if protected[target] then readonly() end
    return setmetatable(target, meta)
  end,
}

-- All texts share one metatable. A script that changed it would change it for all scripts.
local texts = getmetatable('')
texts.__index = protect(strings)
local shown_texts = protect({ __index = texts.__index })
base.getmetatable = function(target)
  if protected[target] then return nil end
  return type(target) == 'string' and shown_texts or getmetatable(target)
end

local globals = _G
for name in pairs(globals) do globals[name] = nil end
protected[globals] = true
setmetatable(base, {
  __index = function(_, name)
    error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'", 2)
  end,
})
setmetatable(globals, { __index = base, __newindex = readonly, __metatable = false })

local function describe(failure)
  local level, line = 2, nil
  repeat
    local info = getinfo(level, 'Sl')
    if info and info.source == '@user_script' then line = info.currentline end
    level = level + 1
  until line or not info
  if type(failure) ~= 'table' then failure = { err = 'ERR ' .. tostring(failure) } end
  local text = type(failure.err) == 'string' and failure.err or 'ERR unknown error'
  return { text = text, line = line }
end

return function(body, sha, keys, argv)
  rawset(base, 'KEYS', keys)
  rawset(base, 'ARGV', argv)
  local ok, result = xpcall(body, describe)
  if ok then return result end
  if type(result) ~= 'table' then result = { text = 'ERR ' .. tostring(result) } end
  local location = result.line and ', on @user_script:' .. result.line .. '.' or ''
  return { err = result.text .. ' script: ' .. sha .. location }
end
`

import type { Row } from './command-histories.ts'

/** The kind of script a limiter sends: prune, count, decide, then write. */
export const LIMITER_SCRIPT = `
local now, window, limit = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local cost, member = tonumber(ARGV[4]), ARGV[5]
local oldest = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. string.format('%.0f', now - window),
  '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
local used = tonumber(redis.call('GET', KEYS[2]) or '0')
if used + cost > limit then
  return { 0, used, { tonumber(oldest[2] or 0), math.floor((now - window) / 3) } }
end
local removed = redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%d', now - window))
if removed > 0 then
  redis.call('SET', KEYS[2], used - removed, 'PX', 3600000)
end
local pairs_to_add = {}
for unit = 1, cost do
  pairs_to_add[#pairs_to_add + 1] = ARGV[1]
  pairs_to_add[#pairs_to_add + 1] = member .. ':' .. unit
end
redis.call('ZADD', KEYS[1], unpack(pairs_to_add))
local count = redis.call('INCRBY', KEYS[2], cost)
redis.call('PEXPIRE', KEYS[1], window * 100)
return { 1, count, { now, string.match(member, '%d+'), string.sub(member, 1, 1) } }`

const evaluate = (script: string, ...args: string[]): Row => ['EVAL', script, '0', ...args]

/** Scripts whose answers must not depend on the engine. */
export const SCRIPT_HISTORIES: Record<string, readonly Row[]> = {
  'the script cache': [
    ['EVALSHA', 'e0e1f9fabfc9d4800c877a703b823ac0578ff8db', '0'],
    ['SCRIPT', 'LOAD', 'return 1'],
    ['SCRIPT', 'LOAD', 'return 1'],
    ['SCRIPT', 'EXISTS', 'e0e1f9fabfc9d4800c877a703b823ac0578ff8db', 'nope'],
    ['EVALSHA', 'E0E1F9FABFC9D4800C877A703B823AC0578FF8DB', '0'],
    ['EVALSHA_RO', 'e0e1f9fabfc9d4800c877a703b823ac0578ff8db', '0'],
    ['SCRIPT', 'FLUSH'],
    ['EVALSHA', 'e0e1f9fabfc9d4800c877a703b823ac0578ff8db', '0'],
    ['EVAL', 'return 1', '0'],
    ['EVALSHA', 'e0e1f9fabfc9d4800c877a703b823ac0578ff8db', '0'],
    ['EVAL_RO', "return redis.call('SET', 'a', '1')", '0'],
    ['EVAL', "#!lua flags=no-writes\nreturn redis.call('SET', 'a', '1')", '0'],
    ['EVAL', '#!lua flags=allow-key-locking\nreturn 1', '0'],
    ['EVAL', '#!lua\nreturn nope', '0'],
    ['EVAL', '#!js\nreturn 1', '0'],
    ['EVAL', '#!lua foo=bar\nreturn 1', '0'],
    ['EVAL', '#!lua', '0'],
  ],
  'what scripts return': [
    evaluate('return'),
    evaluate('return nil'),
    evaluate('return false'),
    evaluate('return true'),
    evaluate('return 3.99'),
    evaluate('return -3.99'),
    evaluate('return 2^53'),
    evaluate('return 2^62'),
    evaluate('return 2^63'),
    evaluate('return 0/0'),
    evaluate('return 1/0'),
    evaluate("return 'text'"),
    evaluate("return ''"),
    evaluate('return ARGV', 'a', '', 'é'),
    evaluate('return { 1, nil, 3 }'),
    evaluate("return { 1, { 2, { 3.7, 'x', false, true } }, {} }"),
    evaluate("return { ok = 'FINE' }"),
    evaluate("return { err = 'MY error' }"),
    evaluate("return { 1, { err = 'inner' }, { ok = 'OK' } }"),
    evaluate('return { double = 3.5 }'),
    evaluate('return { named = 1 }'),
    evaluate('return redis.call'),
    evaluate("return redis.status_reply('GO')"),
    evaluate("return redis.error_reply('foo')"),
    evaluate("return redis.error_reply('My Err')"),
    evaluate("return redis.error_reply('-My Err')"),
    evaluate('return redis.error_reply()'),
    evaluate("return redis.sha1hex('')"),
    evaluate('return 1, 2, 3'),
    ['EVAL', 'return { KEYS[1], ARGV[1], #KEYS, #ARGV, KEYS[2] }', '1', 'k', 'a', 'b'],
  ],
  'replies inside scripts': [
    ['SET', 's', 'x'],
    evaluate("return redis.call('GET', 'none') == false"),
    evaluate("return redis.call('SET', 'a', 1)"),
    evaluate("return redis.call('SET', 'a', 1).ok"),
    evaluate("return type(redis.call('INCRBY', 'a', 1))"),
    evaluate("return redis.call('SET', 'a', 1, 'NX')"),
    evaluate("return redis.call('set', 'a', 0.5)"),
    evaluate("return redis.call('get', 'a')"),
    evaluate("return redis.call('SET', 'a', 1700000000123)"),
    evaluate("return redis.call('GET', 'a')"),
    evaluate("return #redis.call('TIME')"),
    evaluate("return string.match(redis.call('TIME')[1], '^%d+$') and 1"),
    evaluate("redis.call('HSET', 'h', 'f', 1, 'g', 2) return redis.call('HGETALL', 'h')"),
    evaluate("redis.call('ZADD', 'z', 1, 'a', 2, 'b') return redis.call('ZRANGE', 'z', 0, -1)"),
    evaluate("return redis.call('ZRANGE', 'z', 0, -1, 'WITHSCORES')[2] + 1"),
    evaluate("return redis.call('ZRANGEBYSCORE', 'z', '(1', '+inf', 'WITHSCORES', 'LIMIT', 0, 1)"),
    evaluate("return redis.pcall('INCR', 's')"),
    evaluate("return redis.pcall('INCR', 's').err"),
    evaluate("return redis.pcall('NOPE').err"),
    evaluate("return redis.pcall('GET').err"),
    evaluate('return redis.pcall().err'),
    evaluate("return redis.pcall('SET', 'a', {}).err"),
    evaluate("return redis.pcall('SET', 'a', nil).err"),
    evaluate("return redis.pcall('ZADD', 's', 1, 'a').err"),
    evaluate("return redis.pcall('EVAL', 'return 1', 0).err"),
    evaluate("local ok, e = pcall(redis.call, 'INCR', 's') return { tostring(ok), type(e), e }"),
    evaluate(
      "local ok, e = pcall(redis.pcall, 'INCR', 's') return { tostring(ok), type(e), e.err }",
    ),
    evaluate("local ok, e = pcall(error, { err = 'My x' }) return { type(e), e }"),
    evaluate("local ok, e = pcall(redis.call, 'GET', 'none') return { type(e), ok }"),
    evaluate(
      "local ok, e = xpcall(function() redis.call('INCR', 's') end, function(m) return m end) " +
        'return { type(e), e.err }',
    ),
    evaluate("local ok, e = pcall(redis.call, 'INCR', 's') error(e)"),
    evaluate("redis.call('SET', 'kept', 1) redis.call('INCR', 's')"),
    ['GET', 'kept'],
    ['TTL', 'kept'],
    evaluate("redis.call('SET', 'k', 1, 'PX', 100000) return redis.call('TTL', 'k')"),
    evaluate("redis.call('PEXPIRE', 'k', 50000) return { redis.call('TTL', 'k') }"),
    evaluate(
      "redis.call('DEL', 'k') return { redis.call('PTTL', 'k'), redis.call('EXISTS', 'k') }",
    ),
  ],
  'errors of scripts': [
    evaluate("return redis.call('NOPE')"),
    evaluate("\n\nreturn redis.call('GET')"),
    evaluate(
      "redis.call('SET', 's', 'x')\nlocal function f()\n  redis.call('INCR', 's')\nend\nf()",
    ),
    evaluate('return redis.call()'),
    evaluate("return redis.call('SET', 'a', {})"),
    evaluate("return redis.call('EVAL', 'return 1', 0)"),
    evaluate("error('x')"),
    evaluate("error('x', 0)"),
    evaluate("error({ err = 'My x' })"),
    evaluate('error(5)'),
    evaluate('error(true)'),
    evaluate('x = 1'),
    evaluate('return x'),
    evaluate('return x.y'),
    evaluate('local t = nil return t.y'),
    evaluate("return 'a' + 1"),
    evaluate("return {} .. 'a'"),
    evaluate('string.x = 1'),
    evaluate('syntax('),
    evaluate('return print'),
    evaluate('return os'),
    evaluate('return debug'),
    evaluate("return tonumber('x') > 1"),
    evaluate("return assert(false, 'no')"),
    evaluate("return loadstring('return 1 + 1')()"),
    evaluate('\nlocal a = 1\nlocal b = a.c.d'),
  ],
  'numbers and text in Lua': [
    evaluate('return tostring(3)'),
    evaluate('return tostring(10 / 2)'),
    evaluate('return tostring(10 / 4)'),
    evaluate('return tostring(1700000000123)'),
    evaluate('return tostring(1700000000123456)'),
    evaluate('return tostring(2^53)'),
    evaluate('return tostring(-0.0)'),
    evaluate('return tostring(1e100)'),
    evaluate('return 1700000000 * 1000000 + 5'),
    evaluate('return 2000000000 + 2000000000'),
    evaluate("return tonumber('1700000000') * 1000"),
    evaluate("return tonumber('0x10')"),
    evaluate("return tonumber(' 5 ')"),
    evaluate("return tonumber('5x')"),
    evaluate("return tonumber('1e3')"),
    evaluate("return tonumber('ff', 16)"),
    evaluate("return tostring(tonumber('nan') > 1)"),
    evaluate("return string.format('%d', 1700000000123456)"),
    evaluate("return string.format('%d', -3.7)"),
    evaluate("return string.format('%5d|%-5d|%05d|%+d', 1, 2, 3, 4)"),
    evaluate("return string.format('%.0f', 1700000000123456)"),
    evaluate("return string.format('%.3f %s %q %% %x', 1.5, 'a', 'b', 255)"),
    evaluate("return string.format('%d', '12')"),
    evaluate("return string.format('%016.0f:%.0f', 8000000000000123, 1000000000000)"),
    evaluate("local at = string.gmatch('7:12:0:3', '%d+') return { at(), at(), at(), at(), at() }"),
    evaluate('return { 9007199254740991 % 8000000000000000, -5 % 8000000000000000 }'),
    evaluate("return string.format('%.0f', 9007199254740991 + 1700000000000)"),
    evaluate("local text = string.format('%d', 'x') return text"),
    evaluate("local text = string.format('%d') return text"),
    evaluate("return ('%d'):format(5000000000)"),
    evaluate("return string.sub('hello', -3, -2)"),
    evaluate("return { string.match('12:34', '(%d+):(%d+)') }"),
    evaluate("return { string.find('abc', 'b', 1, true) }"),
    evaluate("return { string.gsub('abc', '%w', '%0%0') }"),
    evaluate("return string.rep('ab', 3) .. #'é'"),
    evaluate('return { math.floor(-1.5), math.ceil(1.2), math.max(1, 7), math.min(3, 2), 7 % 3 }'),
    evaluate('return { -7 % 3, math.fmod(-7, 3), 7.5 % 2, math.huge, 2 ^ 10 }'),
    evaluate("local t = { 3, 1, 2 } table.sort(t) return { table.concat(t, ','), unpack(t) }"),
    evaluate('local t = {} for i = 1, 3 do table.insert(t, i) end return { #t, select(2, 4, 5) }'),
    evaluate("return { type(nil), type(1), type('') , type({}), type(type) }"),
    evaluate('return tostring(1 == 1.0) .. tostring(3 % 2 == 1)'),
  ],
}

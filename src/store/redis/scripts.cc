// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/redis/scripts.h"

#include <fmt/format.h>

namespace keymill::store::redis {
namespace {

// The timeline is asked for in each script, and not when a connection is made: REPLICAOF replaces
// the data of a server whose connections stay.
constexpr std::string_view kCommon = R"lua(
local function timeline()
  local run = string.match(redis.call('INFO', 'server'), '\nrun_id:(%w+)')
  local history = string.match(redis.call('INFO', 'replication'), '\nmaster_replid:(%w+)')
  return (run or '') .. ':' .. (history or '')
end
local function elsewhere(expected) return expected ~= '' and expected ~= timeline() end
local function closed(store)
  if redis.call('HEXISTS', store, 'fill') == 1 then return 'filling' end
  local moved_to = redis.call('HGET', store, 'moved_to')
  if moved_to then return 'sealed ' .. moved_to end
end
local function over(store, fill)
  return redis.call('HGET', store, 'fill') ~= fill or
         redis.call('HEXISTS', store, 'fill_rows') == 0
end
local function keys_from(at)
  return { KEYS[at], KEYS[at + 1], KEYS[at + 2], KEYS[at + 3], KEYS[at + 4], KEYS[at + 5] }
end
)lua";

// The record first: should anything after it fail, numbers are lost and not repeated.
constexpr std::string_view kObey = R"lua(
local function obey(keys, words, at, last)
  while at <= last do
    local order, one, two = words[at], words[at + 1], words[at + 2]
    if order == 'set' then
      redis.call('HSET', keys[1], one, two)
      at = at + 3
    elseif order == 'put' then
      redis.call('ZADD', keys[2], '0', one)
      redis.call('HSET', keys[3], one, two)
      at = at + 3
    elseif order == 'drop' then
      redis.call('ZREM', keys[2], one)
      redis.call('HDEL', keys[3], one)
      redis.call('ZREM', keys[4], one)
      redis.call('ZREM', keys[6], one)
      at = at + 2
    elseif order == 'return' then
      redis.call('ZADD', keys[4], '0', one)
      redis.call('ZREM', keys[6], one)
      at = at + 2
    elseif order == 'lend' then
      redis.call('ZREM', keys[4], one)
      redis.call('ZADD', keys[6], '0', one)
      at = at + 2
    elseif order == 'keep' then
      redis.call('ZREM', keys[4], one)
      redis.call('ZREM', keys[6], one)
      at = at + 2
    elseif order == 'mark' then
      redis.call('HSET', KEYS[1], 'quarantine', one)
      at = at + 2
    elseif order == 'hold' then
      redis.call('HSET', keys[5], one, two)
      at = at + 3
    else
      redis.call('HDEL', keys[5], one)
      at = at + 2
    end
  end
end
)lua";

constexpr std::string_view kLook = R"lua(
if redis.call('HEXISTS', KEYS[1], 'fill') == 1 then return 'filling' end
if elsewhere(ARGV[1]) then return 'timeline' end
local record, ledger, text, returned, held, lent = unpack(keys_from(2))
local reply = { redis.call('HGET', KEYS[1], 'moved_to') or '', redis.call('HGETALL', record) }
for at = 2, #ARGV, 3 do
  local about, value, most = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  local firsts
  if about == 'below' then
    firsts = redis.call('ZREVRANGEBYLEX', ledger, '[' .. value, '-', 'LIMIT', '0', most)
  elseif about == 'from' then
    firsts = redis.call('ZRANGEBYLEX', ledger, '[' .. value, '+', 'LIMIT', '0', most)
  elseif about == 'returned' then
    firsts = redis.call('ZRANGEBYLEX', returned, '[' .. value, '+', 'LIMIT', '0', most)
  elseif about == 'lent' then
    firsts = redis.call('ZRANGEBYLEX', lent, '[' .. value, '+', 'LIMIT', '0', most)
  else
    firsts = { redis.call('HGET', held, value) or nil }
  end
  local rows = {}
  for _, first in ipairs(firsts) do
    rows[#rows + 1] = first
    rows[#rows + 1] = redis.call('HGET', text, first) or ''
  end
  reply[#reply + 1] = rows
end
return reply
)lua";

constexpr std::string_view kApply = R"lua(
local why = closed(KEYS[1])
if why then return why end
if elsewhere(ARGV[1]) then return 'timeline' end
if redis.call('HGET', KEYS[2], 'rev') ~= ARGV[2] or
   redis.call('HGET', KEYS[2], 'change') ~= ARGV[3] then
  return 'changed'
end
obey(keys_from(2), ARGV, 4, #ARGV)
return 'done'
)lua";

constexpr std::string_view kEstablish = R"lua(
local schema = redis.call('HGET', KEYS[1], 'schema')
if schema and schema ~= ARGV[1] then return 'schema' end
local why = closed(KEYS[1])
if why then return why end
if not schema then
  if ARGV[2] == '' then return 'absent' end
  redis.call('HSET', KEYS[1], 'schema', ARGV[1], 'store_id', ARGV[2], 'created_at_ms', ARGV[3],
             'agreed_timeline', timeline())
end
local reply = { redis.call('HGETALL', KEYS[1]) }
local at = 5
for part = 1, tonumber(ARGV[4]) do
  local name, id, words = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2])
  at = at + 3
  local known = redis.call('HGET', KEYS[2], name)
  if known then
    reply[#reply + 1] = 0
    reply[#reply + 1] = known
  else
    redis.call('HSET', KEYS[2], name, id)
    obey(keys_from(3 + (part - 1) * 6), ARGV, at, at + words - 1)
    reply[#reply + 1] = 1
    reply[#reply + 1] = id
  end
  at = at + words
end
return reply
)lua";

constexpr std::string_view kAgree = R"lua(
if redis.call('HEXISTS', KEYS[1], 'schema') == 0 then return 'absent' end
local why = closed(KEYS[1])
if why then return why end
if timeline() == ARGV[1] then redis.call('HSET', KEYS[1], 'agreed_timeline', ARGV[1]) end
return 'done'
)lua";

constexpr std::string_view kSeal = R"lua(
if redis.call('HEXISTS', KEYS[1], 'schema') == 0 then return 'absent' end
if redis.call('HEXISTS', KEYS[1], 'fill') == 1 then return 'filling' end
local before = redis.call('HGET', KEYS[1], 'moved_to')
if before and before ~= ARGV[1] and ARGV[2] ~= '1' then return 'sealed ' .. before end
if (redis.call('HGET', KEYS[1], 'quarantine') or '') ~= ARGV[3] then return 'changed' end
redis.call('HSET', KEYS[1], 'moved_to', ARGV[1])
return 'done'
)lua";

constexpr std::string_view kBeginFill = R"lua(
local schema, id, fill = unpack(redis.call('HMGET', KEYS[1], 'schema', 'store_id', 'fill'))
if not schema then
  if redis.call('HLEN', KEYS[2]) ~= 0 then return 'strange' end
  redis.call('HSET', KEYS[1], 'schema', ARGV[1], 'store_id', ARGV[2], 'created_at_ms', ARGV[4],
             'fill', ARGV[3], 'fill_keyspaces', '0', 'fill_rows', '0',
             'fill_keys', '0')
  return 'done'
end
if schema ~= ARGV[1] then return 'schema' end
if not fill or id ~= ARGV[2] then return { id, fill or '' } end
redis.call('HSET', KEYS[1], 'fill', ARGV[3])
redis.call('HDEL', KEYS[1], 'fill_keyspaces', 'fill_rows', 'fill_keys')
return 'clear'
)lua";

// A name goes together with all of its keyspace, so that whatever is left can be found by name.
constexpr std::string_view kClear = R"lua(
if redis.call('HGET', KEYS[1], 'fill') ~= ARGV[1] then return 'over' end
local each = (#KEYS - 2) / (#ARGV - 1)
for i = 2, #ARGV do
  local first = 3 + (i - 2) * each
  redis.call('UNLINK', unpack(KEYS, first, first + each - 1))
  redis.call('HDEL', KEYS[2], ARGV[i])
end
if redis.call('HLEN', KEYS[2]) == 0 then
  redis.call('HSET', KEYS[1], 'fill_keyspaces', '0', 'fill_rows', '0', 'fill_keys', '0')
end
return 'done'
)lua";

constexpr std::string_view kFillKeyspace = R"lua(
if over(KEYS[1], ARGV[1]) then return 'over' end
if redis.call('HEXISTS', KEYS[2], ARGV[2]) == 1 or redis.call('HLEN', KEYS[3]) ~= 0 then
  return 'twice'
end
redis.call('HSET', KEYS[2], ARGV[2], ARGV[3])
obey(keys_from(3), ARGV, 4, #ARGV)
redis.call('HINCRBY', KEYS[1], 'fill_keyspaces', '1')
return 'done'
)lua";

constexpr std::string_view kFillLedger = R"lua(
if over(KEYS[1], ARGV[1]) then return 'over' end
if ARGV[2] == '0' then return 'done' end
if redis.call('HLEN', KEYS[2]) == 0 then return 'early' end
local before = redis.call('ZCARD', KEYS[3])
obey(keys_from(2), ARGV, 3, #ARGV)
local added = redis.call('ZCARD', KEYS[3]) - before
redis.call('HINCRBY', KEYS[1], 'fill_rows', added)
if added ~= tonumber(ARGV[2]) then return 'twice' end
return 'done'
)lua";

constexpr std::string_view kEndFill = R"lua(
if over(KEYS[1], ARGV[1]) then return 'over' end
local counts = redis.call('HMGET', KEYS[1], 'fill_keyspaces', 'fill_rows', 'fill_keys')
if counts[1] ~= ARGV[2] or counts[2] ~= ARGV[3] or counts[3] ~= ARGV[4] or
   redis.call('HLEN', KEYS[2]) ~= tonumber(ARGV[2]) then
  return counts
end
redis.call('HSET', KEYS[1], 'agreed_timeline', timeline())
redis.call('HDEL', KEYS[1], 'fill', 'fill_keyspaces', 'fill_rows', 'fill_keys')
return 'done'
)lua";

constexpr std::string_view kRights = R"lua(
redis.call('HDEL', KEYS[1], '')
redis.call('ZADD', KEYS[2], 'XX', 0, '')
redis.call('ZREM', KEYS[2], '')
redis.call('SPOP', KEYS[2])
redis.call('SREM', KEYS[2], '')
redis.call('SADD', KEYS[2], '')
redis.call('SREM', KEYS[2], '')
local schema = redis.call('HGET', KEYS[1], 'schema')
if not schema then return 'absent' end
redis.call('HSET', KEYS[1], 'schema', schema)
return 'done'
)lua";

const Script* MakeScript(std::string_view body, Access access) {
  return new Script(fmt::format("{}{}{}", kCommon, kObey, body), access);
}

}  // namespace

std::string_view CommonLua() { return kCommon; }

const Script& LookScript() {
  static const Script* const script = MakeScript(kLook, Access::kRead);
  return *script;
}

const Script& ApplyScript() {
  static const Script* const script = MakeScript(kApply, Access::kWrite);
  return *script;
}

const Script& EstablishScript() {
  static const Script* const script = MakeScript(kEstablish, Access::kWrite);
  return *script;
}

const Script& AgreeScript() {
  static const Script* const script = MakeScript(kAgree, Access::kWrite);
  return *script;
}

const Script& SealScript() {
  static const Script* const script = MakeScript(kSeal, Access::kWrite);
  return *script;
}

const Script& BeginFillScript() {
  static const Script* const script = MakeScript(kBeginFill, Access::kWrite);
  return *script;
}

const Script& ClearScript() {
  static const Script* const script = MakeScript(kClear, Access::kWrite);
  return *script;
}

const Script& FillKeyspaceScript() {
  static const Script* const script = MakeScript(kFillKeyspace, Access::kWrite);
  return *script;
}

const Script& FillLedgerScript() {
  static const Script* const script = MakeScript(kFillLedger, Access::kWrite);
  return *script;
}

const Script& EndFillScript() {
  static const Script* const script = MakeScript(kEndFill, Access::kWrite);
  return *script;
}

const Script& RightsScript() {
  static const Script* const script = MakeScript(kRights, Access::kRead);
  return *script;
}

}  // namespace keymill::store::redis

// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/redis/key_scripts.h"

#include <fmt/format.h>

#include "store/redis/scripts.h"

namespace keymill::store::redis {
namespace {

// Revisions are compared as text and counted by HINCRBY, both of which are exact.
constexpr std::string_view kTable = R"lua(
local record, rows, notes, identities, counts, available = unpack(KEYS, 2, 7)
local since = { reserved = KEYS[8], released = KEYS[9] }
local ends = { available = KEYS[10], reserved = KEYS[11], used = KEYS[12], released = KEYS[13],
               alias = KEYS[14], derived = KEYS[15], note = KEYS[16], link = KEYS[17] }
local function below(a, b) return #a < #b or (#a == #b and a < b) end
local function refused()
  local why = closed(KEYS[1])
  if why then return why end
  if elsewhere(ARGV[1]) then return 'timeline' end
  local is = redis.call('HMGET', record, 'state', 'recipe_hash', 'rev', 'next')
  -- Who recovers a keyspace has no witness to hold it against.
  local state = ARGV[3] == '' and 'quarantined' or 'open'
  if is[1] ~= state or is[2] ~= ARGV[2] or below(is[3], ARGV[3]) or below(is[4], ARGV[4]) then
    return 'unusable'
  end
end
local function unreadable()
  if redis.call('HEXISTS', KEYS[1], 'fill') == 1 then return 'filling' end
  if redis.call('HEXISTS', record, 'rev') == 0 then return 'unknown' end
end
local function move_on()
  redis.call('HINCRBY', record, 'rev', 1)
  redis.call('HSET', record, 'change', ARGV[5])
end
local function seen() return unpack(redis.call('HMGET', record, 'rev', 'next')) end
local more = {}
local function count(state, by) more[state] = (more[state] or 0) + by end
local function write_counts()
  for state, by in pairs(more) do
    if by ~= 0 then redis.call('HINCRBY', counts, state, by) end
  end
end
local function enter(key, state, at, till)
  count(state, 1)
  if state == 'available' then
    redis.call('SADD', available, key)
  elseif since[state] then
    redis.call('ZADD', since[state], at, key)
  end
  if till ~= '0' then redis.call('ZADD', ends[state], till, key) end
end
local function leave(key, state, till)
  count(state, -1)
  if state == 'available' then
    redis.call('SREM', available, key)
  elseif since[state] then
    redis.call('ZREM', since[state], key)
  end
  if till ~= '0' then redis.call('ZREM', ends[state], key) end
end
-- Returns the key of the row that was there instead.
local function add(word)
  local key, text, state, at, till, identity, note = unpack(ARGV, word, word + 6)
  local twin = identity ~= '' and redis.call('HGET', identities, identity)
  if twin then return twin end
  if redis.call('HSETNX', rows, key, text) == 0 then return key end
  if identity ~= '' then redis.call('HSET', identities, identity, key) end
  if note ~= '' then redis.call('HSET', notes, key, note) end
  enter(key, state, at, till)
end
-- Calls f with so many items at a time as unpack can take.
local function in_parts(items, f)
  for first = 1, #items, 1000 do f(first, math.min(first + 999, #items)) end
end
)lua";

constexpr std::string_view kAdd = R"lua(
local why = refused()
if why then return why end
local reply, moved, size = { '', '' }, false, 0
for word = 6, #ARGV, 7 do
  local there = add(word)
  if there then
    local note = redis.call('HSTRLEN', notes, there) == 0 and ''
    if not note and size < NOTES then note = redis.call('HGET', notes, there) end
    size = size + #(note or '')
    reply[#reply + 1] = { there, redis.call('HGET', rows, there) or '', note }
  else
    if not moved then move_on() end
    moved = true
    reply[#reply + 1] = false
  end
end
write_counts()
reply[1], reply[2] = seen()
return reply
)lua";

// The record first, and each key out of the set before anything else: should anything after that
// fail, keys are lost and not repeated.
constexpr std::string_view kTake = R"lua(
local why = refused()
if why then return why end
local most, state, at, till, head = unpack(ARGV, 6, 10)
if redis.call('SCARD', available) == 0 then
  return 'exhausted ' .. redis.call('HGET', record, 'name')
end
-- What a row says behind its head.
local function rest(text)
  local from = 1
  for _ = 1, 5 do
    local colon = string.find(text, ':', from, true)
    if not colon then return '' end
    from = colon + tonumber(string.sub(text, from, colon - 1)) + 2
  end
  return string.sub(text, from)
end
move_on()
local keys = redis.call('SPOP', available, most)
local had_ends = redis.call('ZCARD', ends.available) ~= 0
in_parts(keys, function(first, last)
  local texts = redis.call('HMGET', rows, unpack(keys, first, last))
  local words, times, tills = {}, {}, {}
  for i = first, last do
    local word = 2 * (i - first) + 1
    words[word], words[word + 1] = keys[i], head .. rest(texts[i - first + 1] or '')
    times[word], times[word + 1] = at, keys[i]
    tills[word], tills[word + 1] = till, keys[i]
  end
  redis.call('HSET', rows, unpack(words))
  if since[state] then redis.call('ZADD', since[state], unpack(times)) end
  if had_ends then redis.call('ZREM', ends.available, unpack(keys, first, last)) end
  if till ~= '0' then redis.call('ZADD', ends[state], unpack(tills)) end
end)
count('available', -#keys)
count(state, #keys)
write_counts()
local rev, next = seen()
return { rev, next, keys }
)lua";

constexpr std::string_view kPick = R"lua(
local why = refused()
if why then return why end
local how = ARGV[6]
if how == 'scan' then
  local page = redis.call('HSCAN', rows, ARGV[7], 'COUNT', ARGV[8])
  if page[1] == '0' then page[1] = '' end
  return page
end
local keys, cursor = {}, ''
if how == 'keys' then
  for word = 7, #ARGV do keys[#keys + 1] = ARGV[word] end
else
  local index = how == 'since' and since[ARGV[7]] or ends[ARGV[7]]
  keys = redis.call('ZRANGEBYSCORE', index, '-inf', ARGV[8], 'LIMIT', ARGV[9], ARGV[10])
  if #keys == tonumber(ARGV[10]) then cursor = string.format('%d', ARGV[9] + #keys) end
end
local found = {}
in_parts(keys, function(first, last)
  local texts = redis.call('HMGET', rows, unpack(keys, first, last))
  for i = first, last do
    local text = texts[i - first + 1]
    if text then
      found[#found + 1] = keys[i]
      found[#found + 1] = text
    end
  end
end)
return { cursor, found }
)lua";

constexpr std::string_view kChange = R"lua(
local why = refused()
if why then return why end
for word = 6, #ARGV, 9 do
  if redis.call('HGET', rows, ARGV[word]) ~= ARGV[word + 1] then return 'changed' end
end
move_on()
local reply = { '', '' }
for word = 6, #ARGV, 9 do
  local key, _, text, before, end_before, state, at, till, identity = unpack(ARGV, word, word + 8)
  local noted = before == 'note' or before == 'link'
  reply[#reply + 1] = noted and redis.call('HGET', notes, key) or ''
  leave(key, before, end_before)
  if text ~= '' then
    redis.call('HSET', rows, key, text)
    enter(key, state, at, till)
  else
    redis.call('HDEL', rows, key)
    redis.call('HDEL', notes, key)
    if identity ~= '' then redis.call('HDEL', identities, identity) end
  end
end
write_counts()
reply[1], reply[2] = seen()
return reply
)lua";

constexpr std::string_view kFind = R"lua(
local why = unreadable()
if why then return why end
local reply, size = {}, 0
for word = 2, #ARGV do
  local key = ARGV[word]
  if ARGV[1] == 'identity' then key = redis.call('HGET', identities, key) end
  local text = key and redis.call('HGET', rows, key)
  local note = text and redis.call('HGET', notes, key) or ''
  reply[#reply + 1] = text and { key, text, note }
  size = size + #note
  if size >= NOTES then break end
end
return reply
)lua";

constexpr std::string_view kScan = R"lua(
local why = unreadable()
if why then return why end
local page = redis.call('HSCAN', rows, ARGV[1], 'COUNT', ARGV[2])
if page[1] == '0' then page[1] = '' end
return page
)lua";

constexpr std::string_view kCount = R"lua(
local why = unreadable()
if why then return why end
return redis.call('HGETALL', counts)
)lua";

constexpr std::string_view kFill = R"lua(
if over(KEYS[1], ARGV[1]) then return 'over' end
if redis.call('HEXISTS', record, 'rev') == 0 then return 'early' end
local added = 0
for word = 2, #ARGV, 7 do
  if not add(word) then added = added + 1 end
end
write_counts()
redis.call('HINCRBY', KEYS[1], 'fill_keys', added)
return 'done'
)lua";

const Script* MakeScript(std::string_view body, Access access) {
  return new Script(
      fmt::format("{}local NOTES = {}\n{}{}", CommonLua(), kReplyNotesSize, kTable, body), access);
}

}  // namespace

const Script& AddKeysScript() {
  static const Script* const script = MakeScript(kAdd, Access::kWrite);
  return *script;
}

const Script& TakeKeysScript() {
  static const Script* const script = MakeScript(kTake, Access::kWrite);
  return *script;
}

const Script& PickKeysScript() {
  static const Script* const script = MakeScript(kPick, Access::kRead);
  return *script;
}

const Script& ChangeKeysScript() {
  static const Script* const script = MakeScript(kChange, Access::kWrite);
  return *script;
}

const Script& FindKeysScript() {
  static const Script* const script = MakeScript(kFind, Access::kRead);
  return *script;
}

const Script& ScanKeysScript() {
  static const Script* const script = MakeScript(kScan, Access::kRead);
  return *script;
}

const Script& CountKeysScript() {
  static const Script* const script = MakeScript(kCount, Access::kRead);
  return *script;
}

const Script& FillKeysScript() {
  static const Script* const script = MakeScript(kFill, Access::kWrite);
  return *script;
}

}  // namespace keymill::store::redis

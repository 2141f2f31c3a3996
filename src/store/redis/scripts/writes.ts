/**
 * Writing rows and everything that finds them. What a batch writes is gathered by kind and written by few commands: a
 * command costs more than the rows in it.
 */
export const WRITES = String.raw`
local batch = {}

-- Gathers the arguments of a command for a key.
local function put(command, key, a, b)
  local name = command .. ' ' .. key
  local found = batch[name]
  if not found then
    found = { command = command, key = key, values = {} }
    batch[name] = found
    batch[#batch + 1] = found
  end
  local values = found.values
  values[#values + 1] = a
  if b ~= nil then values[#values + 1] = b end
end

-- What is taken out goes before what is put in: one name may be in both.
local function flush()
  for i = 1, #batch do
    local one = batch[i]
    if one.command == 'ZREM' or one.command == 'HDEL' then each(one.command, one.key, one.values) end
  end
  for i = 1, #batch do
    local one = batch[i]
    if one.command ~= 'ZREM' and one.command ~= 'HDEL' then each(one.command, one.key, one.values) end
  end
end

local touched = {}

local function isTerminal(state)
  return state ~= 'queued' and state ~= 'running'
end

-- Runs that may go: not the one that its job may still extend.
local function retire(run, row)
  if isTerminal(row.state) and row.endedAt then put('ZADD', row.asked and 'asked' or 'ended', exact(row.endedAt), run) end
end

local function holder(row)
  return row and row.state == 'running' and row.attempt and row.session or false
end

local function putRun(run, job, key, old, new, json, fate)
  put('HSET', 'row', run, cmsgpack.pack(new.state, new.token, new.attempt, new.session, new.stop, new.createdAt, new.endedAt,
    new.asked, new.live, new.settled, json))
  local before, after = holder(old), holder(new)
  local isAnother = not old or old.attempt ~= new.attempt
  if old and old.attempt and isAnother then put('HDEL', 'attempt', old.attempt) end
  if new.attempt and isAnother then put('HSET', 'attempt', new.attempt, run) end
  if before and (before ~= after or isAnother) then
    put('HDEL', 'session:' .. before, old.attempt)
    touched[before] = true
  end
  if after and (before ~= after or isAnother) then
    put('HSET', 'session:' .. after, new.attempt, run)
    touched[after] = true
  end
  if old and old.live and old.live ~= new.live then put('ZREM', 'live', old.live) end
  if new.live and not (old and old.live == new.live) then put('ZADD', 'live', 0, new.live) end
  if not old or old.createdAt ~= new.createdAt then
    if old then put('ZREM', 'runs', history(job, old.createdAt, key)) end
    put('ZADD', 'runs', 0, history(job, new.createdAt, key))
    put('ZADD', 'time', exact(new.createdAt), run)
  end
  if old and isTerminal(old.state) then
    put('ZREM', 'ended', run)
    put('ZREM', 'asked', run)
  end
  if not fate then retire(run, new) end
end

-- A run as it was sent.
local function readRun()
  return {
    state = arg(), token = number(), attempt = text(), session = text(), createdAt = number(), endedAt = number(),
    asked = arg() == '1', live = text(),
  }
end

local TALLY = { 'version', 'wakeAt', 'settled', 'failures', 'until_', 'floor', 'waiting', 'service', 'bucket', 'definition', 'fate', 'retired' }

local function tallyOf(packed)
  local fields = unpacked(packed)
  if not fields then return nil end
  local tally = {}
  for i = 1, #TALLY do tally[TALLY[i]] = fields[i] end
  return tally
end

local function putTally(job, t)
  put('HSET', 'tally', job, cmsgpack.pack(t.version, t.wakeAt, t.settled, t.failures, t.until_, t.floor, t.waiting, t.service,
    t.bucket, t.definition, t.fate, t.retired))
end

local woken = {}

-- Moves a job to its place among those that wake.
local function putWake(job, old, new)
  local member = job .. '\0' .. new.bucket
  local moved = old and (old.service ~= new.service or old.bucket ~= new.bucket)
  if old and old.wakeAt and (moved or not new.wakeAt) then
    put('ZREM', 'due:' .. old.service, job .. '\0' .. old.bucket)
  end
  if new.wakeAt and (moved or not old or old.wakeAt ~= new.wakeAt) then
    put('ZADD', 'due:' .. new.service, exact(new.wakeAt), member)
  end
  if new.wakeAt and (not old or not old.wakeAt or new.wakeAt < old.wakeAt) then woken[new.bucket] = true end
end

local function counted(failures, what)
  if what == 'keep' then return failures end
  return what == 'reset' and 0 or failures + 1
end

-- Sessions that hold runs now, or hold none any more.
local function sessions()
  for session in pairs(touched) do
    if isHeld(session) then
      local node = nodeOf(session)
      if node and node.endedAt then redis.call('SADD', base .. 'lost', session)
      elseif node then redis.call('ZADD', base .. 'holding', exact(node.leaseEnd), session) end
    else
      redis.call('ZREM', base .. 'holding', session)
      redis.call('SREM', base .. 'lost', session)
    end
  end
end

-- Tells the buckets in which a job became due earlier. Whoever may not publish goes without.
local function tell(channel, sender)
  local buckets = {}
  for bucket in pairs(woken) do buckets[#buckets + 1] = tonumber(bucket, 16) end
  if #buckets > 0 then redis.pcall('PUBLISH', channel, sender .. ':' .. table.concat(buckets, ',')) end
  return buckets
end
`

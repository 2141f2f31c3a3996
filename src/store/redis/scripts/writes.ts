/**
 * Writing rows and everything that finds them. What a batch writes is gathered by key and written by few commands: a
 * command costs more than the rows in it.
 */
export const WRITES = String.raw`
-- Values by key, for HDEL, ZREM, HSET and ZADD.
local dropped, left, kept, placed = {}, {}, {}, {}

local function into(lists, key)
  local list = lists[key]
  if not list then
    list = {}
    lists[key] = list
  end
  return list
end

local function put(list, a, b)
  local n = #list
  list[n + 1] = a
  list[n + 2] = b
end

-- What is taken out goes before what is put in: one name may be in both.
local function flush()
  for key, values in pairs(dropped) do each('HDEL', key, values) end
  for key, values in pairs(left) do each('ZREM', key, values) end
  for key, values in pairs(kept) do each('HSET', key, values) end
  for key, values in pairs(placed) do each('ZADD', key, values) end
end

local rows, tallies, attempts = into(kept, 'row'), into(kept, 'tally'), into(kept, 'attempt')
local lives, times = into(placed, 'live'), into(placed, 'time')
local touched = {}

local function isTerminal(state)
  return state ~= 'queued' and state ~= 'running'
end

-- Runs that may go: not the one that its job may still extend.
local function retire(run, row)
  if isTerminal(row.state) and row.endedAt then put(into(placed, row.asked and 'asked' or 'ended'), exact(row.endedAt), run) end
end

local function holder(row)
  return row and row.state == 'running' and row.attempt and row.session or false
end

local function putRun(run, job, key, old, new, json, fate)
  put(rows, run, cmsgpack.pack(new.state, new.token, new.attempt, new.session, new.stop, new.createdAt, new.endedAt,
    new.asked, new.live, new.settled) .. json)
  local before, after = holder(old), holder(new)
  local isAnother = not old or old.attempt ~= new.attempt
  if isAnother then
    if old and old.attempt then put(into(dropped, 'attempt'), old.attempt) end
    if new.attempt then put(attempts, new.attempt, run) end
  end
  if before and (before ~= after or isAnother) then
    put(into(dropped, 'session:' .. before), old.attempt)
    touched[before] = true
  end
  if after and (before ~= after or isAnother) then
    put(into(kept, 'session:' .. after), new.attempt, run)
    touched[after] = true
  end
  if (old and old.live or false) ~= new.live then
    if old and old.live then put(into(left, 'live'), old.live) end
    if new.live then put(lives, 0, new.live) end
  end
  if not old or old.createdAt ~= new.createdAt then
    local createdAt = exact(new.createdAt)
    put(into(placed, 'runs:' .. job), createdAt, key)
    put(times, createdAt, run)
  end
  if old and isTerminal(old.state) then
    put(into(left, 'ended'), run)
    put(into(left, 'asked'), run)
  end
  if not fate then retire(run, new) end
end

local function putTally(job, t)
  put(tallies, job, cmsgpack.pack(t.version, t.wakeAt, t.settled, t.failures, t.until_, t.floor, t.waiting, t.service,
    t.bucket, t.definition, t.fate, t.retired))
end

local woken = {}

-- Moves a job to its place among those that wake.
local function putWake(job, old, new)
  local moved = old and (old.service ~= new.service or old.bucket ~= new.bucket)
  if old and old.wakeAt and (moved or not new.wakeAt) then put(into(left, 'due:' .. old.service), job .. '\0' .. old.bucket) end
  if new.wakeAt and (moved or not old or old.wakeAt ~= new.wakeAt) then
    put(into(placed, 'due:' .. new.service), exact(new.wakeAt), job .. '\0' .. new.bucket)
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

import { KEPT_DEFINITION_MS, KEPT_DEFINITIONS, KEPT_MS, KEPT_NODE_MS, KEPT_REQUEST_MS } from '../../retention.js'
import { SHARED } from './shared.js'

/** Removes what may go, at most so many rows: what is removed, and whether more rows were left unseen. */
const CALL = String.raw`
local asked, limit, after = number(), number(), text()
local now = clock()
local before = math.min(asked, now - ${KEPT_MS})
local requestsBefore = math.min(before, now - ${KEPT_REQUEST_MS})
local left = limit

local function old(key, instant, from)
  return redis.call('ZRANGEBYSCORE', base .. key, '-inf', '(' .. exact(instant), 'LIMIT', from or 0, left)
end

local function dropRuns(index, instant)
  local runs = old(index, instant)
  for i, packed in ipairs(read('row', runs)) do
    local run = runs[i]
    local row = columns(packed)
    local job = jobOf(run)
    if row then
      if row.attempt then redis.call('HDEL', base .. 'attempt', row.attempt) end
    end
    redis.call('ZREM', base .. 'runs:' .. job, string.sub(run, 1, #run - #job - 1))
    redis.call('HDEL', base .. 'row', run)
    redis.call('ZREM', base .. 'time', run)
    redis.call('ZREM', base .. index, run)
  end
  left = left - #runs
end

local function dropEvents(index, instant)
  local ids = old(index, instant)
  for i, packed in ipairs(read('event', ids)) do
    local event = unpacked(packed)
    local at = redis.call('ZSCORE', base .. index, ids[i])
    if event then redis.call('ZREM', base .. 'events', history(event[2], tonumber(at), ids[i])) end
    redis.call('HDEL', base .. 'event', ids[i])
    redis.call('ZREM', base .. index, ids[i])
  end
  left = left - #ids
end

local function dropSessions()
  local kept = 0
  while left > 0 do
    local part = old('seen', now - ${KEPT_NODE_MS}, kept)
    if #part == 0 then return end
    for _, session in ipairs(part) do
      if isHeld(session) then
        kept = kept + 1
      else
        local node = nodeOf(session)
        if node and tonumber(redis.call('HGET', base .. 'last', node.node)) == node.order then
          redis.call('HDEL', base .. 'last', node.node)
        end
        redis.call('HDEL', base .. 'node', session)
        redis.call('HDEL', base .. 'manifest', session)
        redis.call('ZREM', base .. 'seen', session)
        left = left - 1
      end
    end
  end
end

-- The latest of those entered long ago stay, and the one in force.
local function dropDefinitions(job)
  local row = unpacked(redis.call('HGET', base .. 'defs', job))
  local tally = tallyOf(redis.call('HGET', base .. 'tally', job))
  if not row or not tally then return end
  local known, isOld = row[1], 0
  local kept = {}
  for i = #known, 1, -1 do
    local goes = false
    if known[i][3] < now - ${KEPT_DEFINITION_MS} then
      isOld = isOld + 1
      goes = isOld > ${KEPT_DEFINITIONS} and known[i][1] ~= tally.definition
    end
    if goes and left > 0 then
      redis.call('HDEL', base .. 'def', job .. '\0' .. known[i][1])
      left = left - 1
    else
      table.insert(kept, 1, known[i])
    end
  end
  redis.call('HSET', base .. 'defs', job, cmsgpack.pack(kept))
  if #kept <= ${KEPT_DEFINITIONS} then redis.call('ZREM', base .. 'many', job) end
end

local function dropJob(job)
  if redis.call('EXISTS', base .. 'runs:' .. job) == 1 then return end
  if #redis.call('ZRANGEBYLEX', base .. 'events', '[' .. job .. '\0', '(' .. job .. '\1', 'LIMIT', 0, 1) > 0 then return end
  local tally = tallyOf(redis.call('HGET', base .. 'tally', job))
  local known = unpacked(redis.call('HGET', base .. 'defs', job))
  if tally then redis.call('ZREM', base .. 'due:' .. tally.service, job .. '\0' .. tally.bucket) end
  for _, each in ipairs(known and known[1] or {}) do redis.call('HDEL', base .. 'def', job .. '\0' .. each[1]) end
  for _, key in ipairs({ 'head', 'tally', 'defs' }) do redis.call('HDEL', base .. key, job) end
  for _, key in ipairs({ 'jobs', 'retired', 'many' }) do redis.call('ZREM', base .. key, job) end
  left = left - 1
end

-- Looks at some jobs of an index from a name on; gives the last one where there may be more.
local function look(index, name, act)
  local jobs = redis.call('ZRANGEBYLEX', base .. index, name and '(' .. name or '-', '+', 'LIMIT', 0, 200)
  for _, job in ipairs(jobs) do
    if left == 0 then return name, true end
    act(job)
    name = job
  end
  return name, #jobs == 200
end

local index, name = 'many', false
if after then index, name = string.match(after, '^(%a+):(.*)$') end
if not after then
  dropRuns('ended', before)
  if left > 0 then dropRuns('asked', requestsBefore) end
  if left > 0 then dropEvents('happened', before) end
  if left > 0 then dropEvents('requested', requestsBefore) end
  dropSessions()
end
local more = false
if index == 'many' and left > 0 then
  name, more = look('many', name, dropDefinitions)
  if not more then index, name = 'retired', false end
end
if index == 'retired' and left > 0 then name, more = look('retired', name, dropJob) end
redis.call('HINCRBY', base .. 'meta', 'writes', 1)
return { limit - left, left > 0 and (index ~= 'retired' or more) and index .. ':' .. (name or '') or false }
`

export const PRUNE = SHARED + CALL

import { KEPT_DEFINITIONS } from '../../retention.js'
import { SHARED } from './shared.js'
import { WRITES } from './writes.js'

/** Reads a change's arguments into a table. */
const CHANGE = String.raw`
local function orNone(value)
  return value ~= '' and value or false
end

local function readRun(change)
  local a = at
  at = a + 13
  local key = ARGV[a + 1]
  return {
    key = key, name = key .. '\0' .. change.job, expect = orNone(ARGV[a + 2]), expectToken = tonumber(ARGV[a + 3]),
    row = {
      state = ARGV[a + 4], token = tonumber(ARGV[a + 5]), attempt = orNone(ARGV[a + 6]), session = orNone(ARGV[a + 7]),
      createdAt = tonumber(ARGV[a + 8]), endedAt = tonumber(ARGV[a + 9]) or false, asked = ARGV[a + 10] == '1',
      live = orNone(ARGV[a + 11]), stop = orNone(ARGV[a + 12]), settled = false,
    },
    json = ARGV[a + 13],
  }
end

local function readChange()
  local a = at
  at = a + 14
  local change = {
    id = ARGV[a + 1], job = ARGV[a + 2], expect = orNone(ARGV[a + 3]), expectSettled = tonumber(ARGV[a + 4]), head = ARGV[a + 5],
    failures = ARGV[a + 6], runs = {}, events = {},
    header = {
      version = ARGV[a + 1], wakeAt = tonumber(ARGV[a + 7]) or false, waiting = tonumber(ARGV[a + 8]), service = ARGV[a + 9],
      bucket = ARGV[a + 10], definition = ARGV[a + 11], fate = orNone(ARGV[a + 12]), retired = ARGV[a + 13] == '1',
    },
  }
  if ARGV[a + 14] ~= '' then
    change.entered = { json = ARGV[a + 14], hash = arg(), seq = number(), at = number(), stored = arg() == '1' }
  end
  for i = 1, number() do change.runs[i] = readRun(change) end
  for i = 1, number() do change.events[i] = { id = arg(), at = number(), job = arg(), asked = arg() == '1', json = arg() } end
  return change
end
`

/** The same guards as in guards.ts, in the same order. */
const JUDGE = String.raw`
local newEvents, newAttempts = {}, {}

local function judge(change, tally, olds, holders, events)
  if tally and tally.version == change.id then return { 'won' } end
  if (tally and tally.version or false) ~= change.expect then return { 'stale' } end
  if tally and tally.settled < change.expectSettled then return { 'stale' } end
  local keys = { 'clash' }
  for i, run in ipairs(change.runs) do
    if not run.expect and olds[i] ~= nil then keys[#keys + 1] = run.key end
  end
  for i, event in ipairs(change.events) do
    if events[i] or newEvents[event.id] then keys[#keys + 1] = event.id end
  end
  if #keys > 1 then return keys end
  for i, run in ipairs(change.runs) do
    local old = olds[i]
    if run.expect and not (old and old.state == run.expect and old.token == run.expectToken) then return { 'stale' } end
  end
  local hash = change.header.definition
  if not (change.entered and change.entered.hash == hash) and not (tally and tally.definition == hash)
    and redis.call('HEXISTS', base .. 'def', change.job .. '\0' .. hash) == 0 then
    return { 'refused', 'The job ' .. change.job .. ' would follow the definition ' .. hash .. ', which the store does not know.' }
  end
  for i, run in ipairs(change.runs) do
    local attempt = run.row.attempt
    local held = attempt and (newAttempts[attempt] or holders[i])
    if held and held ~= run.name then
      local key = string.sub(held, 1, string.find(held, '\0', 1, true) - 1)
      return { 'refused', 'The attempt ' .. attempt .. ' already belongs to the run ' .. key .. ' of ' .. jobOf(held) .. '.' }
    end
  end
  return nil
end
`

const APPLY = String.raw`
local heads = into(kept, 'head')

local function enter(change, isNew)
  local entered = change.entered
  put(into(kept, 'def'), change.job .. '\0' .. entered.hash, cmsgpack.pack(entered.json, entered.stored))
  local known = {}
  local before = not isNew and unpacked(redis.call('HGET', base .. 'defs', change.job)) or nil
  for _, each in ipairs(before and before[1] or {}) do
    if each[1] ~= entered.hash then known[#known + 1] = each end
  end
  known[#known + 1] = { entered.hash, entered.seq, entered.at }
  put(into(kept, 'defs'), change.job, cmsgpack.pack(known))
  if #known > ${KEPT_DEFINITIONS} then put(into(placed, 'many'), 0, change.job) end
end

-- The row that a job may still extend is not among those that may go.
local function moveFate(change, before, after)
  if before == after then return end
  local written = {}
  for _, run in ipairs(change.runs) do written[run.key] = true end
  if after and not written[after] then
    put(into(left, 'ended'), after .. '\0' .. change.job)
    put(into(left, 'asked'), after .. '\0' .. change.job)
  end
  if before and not written[before] then
    local name = before .. '\0' .. change.job
    local row = columns(redis.call('HGET', base .. 'row', name))
    if row then retire(name, row) end
  end
end

local function apply(change, tally, olds, now)
  local job, header = change.job, change.header
  local settled = tally and tally.settled or 0
  if settled ~= change.expectSettled then header.wakeAt = now end
  header.settled, header.until_, header.floor = settled, tally and tally.until_ or false, tally and tally.floor or 0
  header.failures = counted(tally and tally.failures or 0, change.failures)
  put(heads, job, change.head)
  putTally(job, header)
  putWake(job, tally, header)
  if not tally then put(into(placed, 'jobs'), 0, job) end
  if change.entered then enter(change, not tally) end
  moveFate(change, tally and tally.fate or false, header.fate)
  for i, run in ipairs(change.runs) do
    local before, row = olds[i] or nil, run.row
    if before then row.settled = before.settled end
    putRun(run.name, job, run.key, before, row, run.json, run.key == header.fate)
    if row.attempt then newAttempts[row.attempt] = run.name end
  end
  for _, event in ipairs(change.events) do
    newEvents[event.id] = true
    put(into(kept, 'event'), event.id, cmsgpack.pack(event.json, event.job))
    put(into(placed, event.asked and 'requested' or 'happened'), exact(event.at), event.id)
    put(into(placed, 'events'), 0, history(event.job, event.at, event.id))
  end
  if header.retired or (tally and tally.retired) then change.isRetired = true end
end

-- Schedules of the store that are retired go when nothing of them is left.
local function markRetired(change)
  local def = unpacked(redis.call('HGET', base .. 'def', change.job .. '\0' .. change.header.definition))
  local goes = change.header.retired and def and def[2]
  redis.call(goes and 'ZADD' or 'ZREM', base .. 'retired', unpack(goes and { 0, change.job } or { change.job }))
end
`

const CALL = `
local seen, candidate = number(), arg()
local channel, sender = arg(), arg()
local session, leaseMs, asRead = arg(), number(), number()
local changes = {}
for i = 1, number() do changes[i] = readChange() end
local now = clock()
local incarnation, writes = begin(seen, candidate)
if not isAlive(session, nodeOf(session), now) or now > asRead + leaseMs / 10 then
  return { exact(now), 1, incarnation, exact(writes) }
end

local jobs, runs, tried, events = {}, {}, {}, {}
for i, change in ipairs(changes) do
  jobs[i] = change.job
  for _, run in ipairs(change.runs) do
    runs[#runs + 1] = run.name
    tried[#tried + 1] = run.row.attempt or ''
  end
  for _, event in ipairs(change.events) do events[#events + 1] = event.id end
end
local oldTallies, oldRows, holders, known = read('tally', jobs), read('row', runs), read('attempt', tried), read('event', events)

local results = {}
local run, event = 0, 0
for i, change in ipairs(changes) do
  local olds, held, there = {}, {}, {}
  for n = 1, #change.runs do
    run = run + 1
    -- False: it is there, and cannot be read.
    if oldRows[run] then olds[n] = columns(oldRows[run]) or false end
    held[n] = holders[run]
  end
  for n = 1, #change.events do
    event = event + 1
    there[n] = known[event]
  end
  local tally = tallyOf(oldTallies[i])
  if oldTallies[i] and not tally then
    results[i] = { 'refused', 'The row of the job ' .. change.job .. ' cannot be read.' }
  else
    local fate = judge(change, tally, olds, held, there)
    if not fate then apply(change, tally, olds, now) end
    results[i] = fate or false
  end
end
flush()
sessions()
for _, change in ipairs(changes) do
  if change.isRetired then markRetired(change) end
end
return { exact(now), 0, incarnation, wrote(), results, tell(channel, sender) }
`

export const COMMIT = SHARED + WRITES + CHANGE + JUDGE + APPLY + CALL

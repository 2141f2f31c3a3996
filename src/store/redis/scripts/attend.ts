import { AGGREGATES, SHARED } from './shared.js'
import { WAKES } from './wakes.js'

/** Runs on one page, about: a page with more of them ends before its limit, since nobody else is served meanwhile. */
const PAGE_RUNS = 2_000

/** Jobs that have runs of ended sessions, by name, then jobs due, by instant and name. */
const PAGE = `
-- Jobs of these services after a name that have a run of an ended session, in order.
local function toRecover(services, after)
  local asked, seen, names = {}, {}, {}
  for _, service in ipairs(services) do asked[service] = true end
  for _, session in ipairs(redis.call('SMEMBERS', base .. 'lost')) do
    for _, run in ipairs(redis.call('HVALS', base .. 'session:' .. session)) do
      local job = jobOf(run)
      if not seen[job] and isBefore(after, job) then
        seen[job] = true
        names[#names + 1] = job
      end
    end
  end
  local found = {}
  for i, packed in ipairs(read('tally', names)) do
    local tally = tallyOf(packed)
    if tally and asked[tally.service] then found[#found + 1] = names[i] end
  end
  table.sort(found, isBefore)
  return found
end

-- Due jobs of a service after a mark: one's own at once, others after the grace.
local function dueOf(service, query, mark, wanted, found)
  local key = base .. 'due:' .. service
  local rank = mark and rankAfter(key, mark.at, mark.member) or 0
  local until_ = query.hasMine and query.now or query.now - query.graceMs
  local taken = 0
  while taken < wanted do
    local part = redis.call('ZRANGE', key, rank, rank + 127, 'WITHSCORES')
    for i = 1, #part, 2 do
      local member, score = part[i], tonumber(part[i + 1])
      if score > until_ then return end
      if taken < wanted and (score <= query.now - query.graceMs or isMine(query.mask, member)) then
        taken = taken + 1
        found[#found + 1] = { at = score, member = member }
      end
    end
    if #part < 256 then return end
    rank = rank + 128
  end
end

local function isEarlier(a, b)
  if a.at ~= b.at then return a.at < b.at end
  return isBefore(a.member, b.member)
end

local function page(query, mark)
  local wanted = query.limit + 1
  local names, marks, seen = {}, {}, {}
  local function take(name, mark)
    if #names >= wanted or seen[name] then return end
    seen[name] = true
    names[#names + 1] = name
    marks[name] = mark
  end
  if mark.kind == 'recovered' then
    for _, job in ipairs(toRecover(query.services, mark.member)) do take(job, { 'recovered', '0', job }) end
  end
  if #names >= wanted then return names, marks end
  local due = {}
  for _, service in ipairs(query.services) do
    -- Jobs to recover may be due as well: so many are found twice.
    dueOf(service, query, mark.kind == 'due' and mark, wanted + #names, due)
  end
  if #query.services > 1 then table.sort(due, isEarlier) end
  for _, wake in ipairs(due) do take(nameOf(wake.member), { 'due', exact(wake.at), wake.member }) end
  return names, marks
end
`

const CALL = `
local seen, candidate = number(), arg()
local session, node, leaseMs = arg(), arg(), number()
local said, manifest = text(), text()
local query = { graceMs = number(), limit = number(), mask = arg(), hasMine = arg() == '1', hasOthers = arg() == '1' }
query.services = list(number())
local mark = { kind = arg(), at = number(), member = arg() }
local now = clock()
query.now = now
local incarnation = begin(seen, candidate)

for _, ended in ipairs(redis.call('ZRANGEBYSCORE', base .. 'holding', '-inf', '(' .. exact(now))) do
  local row = nodeOf(ended)
  if row then endSession(ended, row, now) else redis.call('ZREM', base .. 'holding', ended) end
end

local row = nodeOf(session)
if said and not row then
  row = {
    node = node, order = redis.call('HINCRBY', base .. 'meta', 'sessions', 1), startedAt = now, seenAt = now,
    leaseEnd = now + leaseMs, endedAt = false, room = true,
  }
  redis.call('HSET', base .. 'last', node, row.order)
  if isHeld(session) then redis.call('ZADD', base .. 'holding', row.leaseEnd, session) end
end
if not isAlive(session, row, now) then return { exact(now), 0, incarnation, wrote() } end
if said then
  row.said = said
  redis.call('HSET', base .. 'manifest', session, manifest)
end
renew(session, row, now, leaseMs)

local names, marks = page(query, mark)
local more = #names > query.limit
if more then names[#names] = nil end
local sessions = {}
local jobs, shown = aggregates(names, ${PAGE_RUNS}, function(id) sessions[id] = true end)
more = more or shown < #names

local ended = {}
for id in pairs(sessions) do
  local other = nodeOf(id)
  if other and other.endedAt then
    local last = tonumber(redis.call('HGET', base .. 'last', other.node)) or 0
    ended[#ended + 1] = { id, other.node, exact(other.leaseEnd), exact(other.endedAt), last > other.order and 1 or 0 }
  end
end
return {
  exact(now), 1, incarnation, wrote(), jobs, ended, more and marks[names[shown]] or false,
  exact(query.hasMine and nextWake(query.services, query.mask, true, now)),
  exact(query.hasOthers and nextWake(query.services, query.mask, false, now - query.graceMs)),
  nextEnd(session),
}
`

export const ATTEND = SHARED + AGGREGATES + WAKES + PAGE + CALL

import { SHARED } from './shared.js'
import { WRITES } from './writes.js'

/** Attempts of a run whose settlement is recognised when it comes again. */
const REMEMBERED = 20

const CALL = String.raw`
local seen, candidate = number(), arg()
local channel, sender = arg(), arg()
local items, jobs, runs = {}, {}, {}
for i = 1, number() do
  local item = {
    job = arg(), key = arg(), token = number(), attempt = arg(), failures = arg(), wakeAt = number(), until_ = number(), floor = number(),
  }
  item.row = readRun()
  item.json = arg()
  item.name = item.key .. '\0' .. item.job
  items[i], jobs[i], runs[i] = item, item.job, item.name
end
local now = clock()
local incarnation = begin(seen, candidate)
local packed, tallies = read('row', runs), read('tally', jobs)

-- What an attempt was told before.
local function told(settled, attempt)
  for i = 1, settled and #settled or 0, 2 do
    if settled[i] == attempt then return settled[i + 1] end
  end
  return 'x'
end

local function remember(settled, attempt, word)
  local words = settled or {}
  words[#words + 1] = attempt
  words[#words + 1] = word
  while #words > 2 * ${REMEMBERED} do
    table.remove(words, 1)
    table.remove(words, 1)
  end
  return words
end

local isAliveById = {}
local function hasNotEnded(session)
  local known = isAliveById[session]
  if known == nil then
    local node = session and nodeOf(session)
    known = node and not node.endedAt or false
    isAliveById[session] = known
  end
  return known
end

local byJob, words = {}, {}
for i, item in ipairs(items) do
  local old = columns(packed[i])
  local tally = byJob[item.job]
  if not tally then
    tally = tallyOf(tallies[i])
    if tally then
      byJob[item.job] = tally
      tally.old = { wakeAt = tally.wakeAt, service = tally.service, bucket = tally.bucket }
    end
  end
  if not old or not tally then
    words[i] = 'x'
  elseif old.state ~= 'running' or old.token ~= item.token or old.attempt ~= item.attempt then
    words[i] = told(old.settled, item.attempt)
  else
    words[i] = hasNotEnded(old.session) and 's' or 'l'
    item.row.stop = old.stop
    item.row.settled = remember(old.settled, item.attempt, words[i])
    putRun(item.name, item.job, item.key, old, item.row, item.json, item.key == tally.fate)
    tally.settled = tally.settled + 1
    tally.failures = counted(tally.failures, item.failures)
    if item.until_ and (not tally.until_ or item.until_ > tally.until_) then tally.until_ = item.until_ end
    if item.floor and item.floor > tally.floor then tally.floor = item.floor end
    local wakeAt = tally.waiting > 0 and now or item.wakeAt
    if wakeAt and (not tally.wakeAt or wakeAt < tally.wakeAt) then tally.wakeAt = wakeAt end
    tally.isChanged = true
  end
end
for job, tally in pairs(byJob) do
  if tally.isChanged then
    putTally(job, tally)
    putWake(job, tally.old, tally)
  end
end
flush()
sessions()
return { incarnation, wrote(), words, tell(channel, sender) }
`

export const SETTLE = SHARED + WRITES + CALL

import { SHARED } from './shared.js'
import { WRITES } from './writes.js'

/** Attempts of a run whose settlement is recognised when it comes again. */
const REMEMBERED = 20

const CALL = String.raw`
local seen, candidate = number(), arg()
local channel, sender = arg(), arg()
local items, jobs, runs = {}, {}, {}
for i = 1, number() do
  local a = at
  at = a + 17
  local job, key = ARGV[a + 1], ARGV[a + 2]
  local item = {
    job = job, key = key, name = key .. '\0' .. job, token = tonumber(ARGV[a + 3]), attempt = ARGV[a + 4], failures = ARGV[a + 5],
    wakeAt = tonumber(ARGV[a + 6]), until_ = tonumber(ARGV[a + 7]), floor = tonumber(ARGV[a + 8]),
    row = {
      state = ARGV[a + 9], token = tonumber(ARGV[a + 10]), attempt = ARGV[a + 11] ~= '' and ARGV[a + 11], session = ARGV[a + 12] ~= '' and ARGV[a + 12],
      createdAt = tonumber(ARGV[a + 13]), endedAt = tonumber(ARGV[a + 14]) or false, asked = ARGV[a + 15] == '1',
      live = ARGV[a + 16] ~= '' and ARGV[a + 16],
    },
    json = ARGV[a + 17],
  }
  items[i], jobs[i], runs[i] = item, job, item.name
end
local now = clock()
local incarnation = begin(seen, candidate)
local packed, oldTallies = read('row', runs), read('tally', jobs)

-- What an attempt heard before.
local function heard(settled, attempt)
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
    tally = tallyOf(oldTallies[i])
    if tally then
      byJob[item.job] = tally
      tally.old = { wakeAt = tally.wakeAt, service = tally.service, bucket = tally.bucket }
    end
  end
  if not old or not tally then
    words[i] = 'x'
  elseif old.state ~= 'running' or old.token ~= item.token or old.attempt ~= item.attempt then
    words[i] = heard(old.settled, item.attempt)
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

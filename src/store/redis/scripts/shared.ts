import { WINDOW } from '../../../ledger/limits.js'

/** Keys that every script names, so that a Cluster which moves their slot refuses it as a whole; the first one is read for the others. */
export const FIXED_KEYS = [
  'meta',
  ...[
    'head',
    'tally',
    'row',
    'attempt',
    'def',
    'defs',
    'live',
    'time',
    'ended',
    'asked',
    'event',
    'happened',
    'requested',
  ],
  ...['events', 'node', 'manifest', 'seen', 'last', 'holding', 'lost', 'jobs', 'retired', 'many'],
] as const

/**
 * What the scripts share. All keys of a fleet begin alike, with the hash tag: they are in one slot. A script is given the fixed
 * ones and those of its sessions, services and jobs, as far as they are known. Arguments are read in order; an empty one stands for none. Rows are packed by MessagePack, which keeps
 * 53 bits of a number where Lua's own text of it, and cjson's, keep 14 digits; texts of the ledger stay as they came.
 *
 * | key | type | holds |
 * |---|---|---|
 * | `meta` | hash | schema, incarnation, number of writes |
 * | `head` | hash | job: header in JSON |
 * | `tally` | hash | job: version, wakeAt, settled, failures, succeededUntil, tokenFloor, waiting, service, bucket, definition, key of the last fate, retired |
 * | `row` | hash | run: state, token, attempt, session, stop, createdAt, endedAt, asked for, place in `live`, settlements; then its JSON |
 * | `attempt` | hash | attempt: run |
 * | `def`, `defs` | hash | job and hash: definition in JSON, whether it names a handler; job: hashes, numbers and times of entry |
 * | `live` | by text | job, lane, position, key of runs that live |
 * | `time`, `runs:…` | by time | runs by creation, of all jobs; of one job, by their keys |
 * | `ended`, `asked` | by time | runs that may go, by their end; those that somebody asked for |
 * | `event` | hash | id: event in JSON, its job |
 * | `happened`, `requested`, `events` | by time, by text | events that are no request's, those that are, and all by job |
 * | `node`, `manifest`, `seen`, `last` | hash, by time | sessions, when they were seen, and a node's last |
 * | `holding`, `lost` | by time, set | sessions that hold runs by the end of their lease, and such that have ended |
 * | `session:…` | hash | attempt: run, of those that run |
 * | `due:…` | by time | of a service, jobs that wake |
 * | `jobs`, `retired`, `many` | by text | all jobs; retired ones of the store; ones with many definitions |
 */
export const SHARED = String.raw`
local base = string.sub(KEYS[1], 1, -5)
local at = 0

local function arg()
  at = at + 1
  return ARGV[at]
end

local function text()
  at = at + 1
  local found = ARGV[at]
  return found ~= '' and found or false
end

local function number()
  at = at + 1
  return tonumber(ARGV[at]) or false
end

local function list(count)
  local found = {}
  for i = 1, count do found[i] = ARGV[at + i] end
  at = at + count
  return found
end

-- A number to its last digit, as text.
local function exact(n)
  return n and string.format('%.17g', n)
end

-- A number for an answer: whole ones that no driver reads wrongly as they are.
local function told(n)
  return n and (n % 1 == 0 and n < 1e15 and n or exact(n))
end

local function clock()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Lua's stack holds a few thousand values.
local CHUNK = 2000

local function each(command, key, values)
  for from = 1, #values, CHUNK do
    redis.call(command, base .. key, unpack(values, from, math.min(from + CHUNK - 1, #values)))
  end
end

local function read(key, fields)
  if #fields == 0 then return {} end
  if #fields <= CHUNK then return redis.call('HMGET', base .. key, unpack(fields)) end
  local found = {}
  for from = 1, #fields, CHUNK do
    local part = redis.call('HMGET', base .. key, unpack(fields, from, math.min(from + CHUNK - 1, #fields)))
    for i = 1, #part do found[from + i - 1] = part[i] end
  end
  return found
end

-- By bytes, as Redis orders its own; Lua's comparison goes by the server's locale.
local function isBefore(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x < y end
  end
  return #a < #b
end

-- A row that somebody has spoilt is no row; only what belongs to it is left alone.
local function unpacked(packed)
  if not packed then return nil end
  local fields = { pcall(cmsgpack.unpack, packed) }
  if not fields[1] then return nil end
  table.remove(fields, 1)
  return fields
end

local function tallyOf(packed)
  if not packed then return nil end
  local ok, version, wakeAt, settled, failures, until_, floor, waiting, service, bucket, definition, fate, retired =
    pcall(cmsgpack.unpack, packed)
  if not ok or retired == nil then return nil end
  return {
    version = version, wakeAt = wakeAt, settled = settled, failures = failures, until_ = until_, floor = floor,
    waiting = waiting, service = service, bucket = bucket, definition = definition, fate = fate, retired = retired,
  }
end

-- A run's row; where its JSON begins.
local function columns(packed)
  if not packed then return nil end
  local ok, offset, state, token, attempt, session, stop, createdAt, endedAt, asked, live, settled =
    pcall(cmsgpack.unpack_limit, packed, 10, 0)
  if not ok or settled == nil then return nil end
  return {
    state = state, token = token, attempt = attempt, session = session, stop = stop, createdAt = createdAt,
    endedAt = endedAt, asked = asked, live = live, settled = settled, offset = offset,
  }
end

local function jsonOf(packed, row)
  return string.sub(packed, row.offset + 1)
end

-- A run's name is its key and its job.
local function jobOf(run)
  return string.sub(run, string.find(run, '\0', 1, true) + 1)
end

local function isHeld(session)
  return redis.call('EXISTS', base .. 'session:' .. session) == 1
end

-- The place of an event among those of its job.
local function history(job, at, id)
  return job .. '\0' .. string.format('%016.0f', at) .. id
end

-- Another incarnation begins where the ledger is empty, or counts fewer writes than somebody has seen: it was set back.
local function begin(seen, candidate)
  local meta = redis.call('HMGET', base .. 'meta', 'incarnation', 'writes')
  local incarnation, writes = meta[1], tonumber(meta[2]) or 0
  if not incarnation or writes < seen then
    incarnation, writes = candidate, seen + 1000000
    redis.call('HSET', base .. 'meta', 'schema', 1, 'incarnation', incarnation, 'writes', exact(writes))
  end
  return incarnation, writes
end

local function wrote()
  return redis.call('HINCRBY', base .. 'meta', 'writes', 1)
end

local NODE = { 'node', 'order', 'startedAt', 'seenAt', 'leaseEnd', 'endedAt', 'room', 'said' }

local function nodeOf(session)
  local fields = unpacked(redis.call('HGET', base .. 'node', session))
  if not fields then return nil end
  local node = {}
  for i = 1, #NODE do node[NODE[i]] = fields[i] end
  return node
end

local function putNode(session, node)
  local fields = {}
  for i = 1, #NODE do fields[i] = node[NODE[i]] end
  redis.call('HSET', base .. 'node', session, cmsgpack.pack(unpack(fields)))
end

-- It ends for good; the runs that it holds are there to recover.
local function endSession(session, node, now)
  node.endedAt = node.endedAt or now
  putNode(session, node)
  if redis.call('ZREM', base .. 'holding', session) == 1 then redis.call('SADD', base .. 'lost', session) end
end

-- A session that holds no run does not run out.
local function isAlive(session, node, now)
  if not node or node.endedAt then return false end
  return node.leaseEnd >= now or not redis.call('ZSCORE', base .. 'holding', session)
end

local function renew(session, node, now, leaseMs)
  node.seenAt = now
  node.leaseEnd = now + leaseMs
  putNode(session, node)
  redis.call('ZADD', base .. 'seen', now, session)
  redis.call('ZADD', base .. 'holding', 'XX', node.leaseEnd, session)
end
`

/** Reading aggregates. */
export const AGGREGATES = String.raw`
local WINDOW = ${WINDOW}
local LANES = { 'b', 'c', 'd' }

-- The runs of a job that hold a place, and the first of each lane; by their places in the index.
local function window(job)
  local first = redis.call('ZRANGEBYLEX', base .. 'live', '[' .. job .. '\0', '(' .. job .. '\1', 'LIMIT', 0, WINDOW + 1)
  if #first <= WINDOW then return first end
  local found = redis.call('ZRANGEBYLEX', base .. 'live', '[' .. job .. '\0a', '(' .. job .. '\0b')
  for _, lane in ipairs(LANES) do
    local part = redis.call('ZRANGEBYLEX', base .. 'live', '[' .. job .. '\0' .. lane, '(' .. job .. '\0' .. lane .. '\255', 'LIMIT', 0, WINDOW)
    for _, place in ipairs(part) do found[#found + 1] = place end
  end
  return found
end

-- Jobs as they are told: name, header, tally and definition, or false for what cannot be read, and JSON and stop of each run.
-- Sessions of runs that run are handed to "running".
local function aggregates(jobs, most, running)
  local heads, tallies = read('head', jobs), read('tally', jobs)
  local hashes, tally = {}, {}
  for i, job in ipairs(jobs) do
    tally[i] = tallyOf(tallies[i]) or false
    hashes[i] = job .. '\0' .. (tally[i] and tally[i].definition or '')
  end
  local defs = read('def', hashes)
  local found, count = {}, 0
  for i, job in ipairs(jobs) do
    if heads[i] or tallies[i] then
      local t = tally[i]
      local runs, names = {}, {}
      for n, place in ipairs(window(job)) do names[n] = string.sub(place, #job + 19) .. '\0' .. job end
      for n, packed in ipairs(read('row', names)) do
        local row = columns(packed)
        runs[2 * n - 1] = row and jsonOf(packed, row) or false
        runs[2 * n] = row and row.stop or false
        if running and row and row.state == 'running' and row.session then running(row.session) end
      end
      local def = unpacked(defs[i])
      found[#found + 1] = {
        job, heads[i], t and {
          t.version, told(t.wakeAt), told(t.settled), told(t.failures), told(t.until_), told(t.floor), t.definition,
        }, def and def[1] or false, runs,
      }
      count = count + #names
      if most and count >= most then return found, i end
    end
  end
  return found, #jobs
end
`

-- Load for one workload: wrk -s dynamodb.lua URL -- WORKLOAD ITEMS SEED [MOMENT]
-- With a moment, requests read as of it.
-- All requests are made in init(), so that sending one costs an array access; nothing is signed, the shape is right.
-- The items look like those of ../items.mjs. Prints one line "RESULT {json}" at the end.

local kRequests = 20000
local requests = {}
local count, next_request = 0, 0
local thread = nil
scanned = 0  -- global, for done() reads it from the thread's state

function setup(t) thread = t end

local function text(length)
  local alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
  local out = {}
  for i = 1, length do
    local at = math.random(#alphabet)
    out[i] = alphabet:sub(at, at)
  end
  return table.concat(out)
end

local pool = nil

local function item(i, tag)
  local at = math.random(#pool - 993)
  return string.format(
    '{"pk":{"S":"user#%08d"},"v":{"N":"%d"},"tag":{"S":"tag-%02d"},"data":{"S":"%s"}}',
    i, math.random(9), tag or i % 100, pool:sub(at, at + 992))
end

local item_count = 0
local moment = nil

local kinds = {
  get = function(i)
    return "GetItem", string.format('{"TableName":"bench","Key":{"pk":{"S":"user#%08d"}}}', i)
  end,
  execute = function(i)
    return "ExecuteStatement", string.format(
      '{"Statement":"SELECT * FROM bench WHERE pk = ?","Parameters":[{"S":"user#%08d"}]}', i)
  end,
  put = function(i)
    return "PutItem", string.format('{"TableName":"bench","Item":%s}', item(i))
  end,
  putstream = function(i)
    return "PutItem", string.format('{"TableName":"bench_stream","Item":%s}', item(i))
  end,
  putpitr = function(i)
    return "PutItem", string.format('{"TableName":"bench_pitr","Item":%s}', item(i))
  end,
  condput = function(i)
    return "PutItem", string.format(
      '{"TableName":"bench","Item":%s,"ConditionExpression":"attribute_exists(pk)"}', item(i))
  end,
  update = function(i)
    return "UpdateItem", string.format(
      '{"TableName":"bench","Key":{"pk":{"S":"user#%08d"}},"UpdateExpression":"SET v = v + :one",'
      .. '"ExpressionAttributeValues":{":one":{"N":"1"}}}', i)
  end,
  query = function(i)
    return "Query", string.format(
      '{"TableName":"bench_query","KeyConditionExpression":"pk = :pk",'
      .. '"ExpressionAttributeValues":{":pk":{"S":"coll#%08d"}}}', math.floor(i / 20))
  end,
  smallget = function(i)
    return "GetItem", string.format('{"TableName":"bench_small","Key":{"pk":{"S":"coll#%08d"},"sk":{"N":"%d"}}}',
      math.floor(i / 20), i % 20 + 10)
  end,
  smallquery = function(i)
    return "Query", string.format(
      '{"TableName":"bench_small","KeyConditionExpression":"pk = :pk",'
      .. '"ExpressionAttributeValues":{":pk":{"S":"coll#%08d"}}}', math.floor(i / 20))
  end,
  gsiput = function(i)
    return "PutItem", string.format('{"TableName":"bench_gsi","Item":%s}', item(i))
  end,
  gsimove = function(i)
    return "PutItem", string.format('{"TableName":"bench_gsi","Item":%s}', item(i, math.random(0, 99)))
  end,
  transact = function(i)
    local actions = {}
    for k = 0, 3 do
      local key = (i + k * math.floor(item_count / 4)) % item_count
      actions[k + 1] = string.format('{"Put":{"TableName":"bench","Item":%s}}', item(key))
    end
    return "TransactWriteItems", '{"TransactItems":[' .. table.concat(actions, ",") .. "]}"
  end,
  -- The next five are for a cluster: sixteen tables, so that commits go to as many objects.
  get16 = function(i)
    return "GetItem", string.format('{"TableName":"bench_%02d","ConsistentRead":true,"Key":{"pk":{"S":"user#%08d"}}}', i % 16, i)
  end,
  put16 = function(i)
    return "PutItem", string.format('{"TableName":"bench_%02d","Item":%s}', i % 16, item(i))
  end,
  transact2 = function(i)
    return "TransactWriteItems", string.format(
      '{"TransactItems":[{"Put":{"TableName":"bench_%02d","Item":%s}},{"Put":{"TableName":"bench_%02d","Item":%s}}]}',
      i % 16, item(i), (i + 1) % 16, item((i + 1) % item_count))
  end,
  query100 = function(i)
    return "Query", string.format(
      '{"TableName":"bench_collections","ConsistentRead":true,"KeyConditionExpression":"pk = :pk",'
      .. '"ExpressionAttributeValues":{":pk":{"S":"coll#%08d"}}}', math.floor(i / 100))
  end,
  -- The same items, but each request names a range that nobody has asked for: nothing that was read before is of use.
  query100new = function(i)
    return "Query", string.format(
      '{"TableName":"bench_collections","ConsistentRead":true,"KeyConditionExpression":"pk = :pk AND sk > :sk",'
      .. '"ExpressionAttributeValues":{":pk":{"S":"coll#%08d"},":sk":{"N":"%.9f"}}}', math.floor(i / 100), 9 * math.random())
  end,
  filter = function(i)
    return "Scan", string.format(
      '{"TableName":"bench","FilterExpression":"tag < :tag","ExpressionAttributeValues":{":tag":{"S":"tag-10"}},'
      .. '"ExclusiveStartKey":{"pk":{"S":"user#%08d"}}}', i)
  end,
}

local function request_of(kind, i)
  local operation, body = kinds[kind](i)
  local date = os.date("!%Y%m%dT%H%M%SZ")
  return wrk.format("POST", "/", {
    ["Host"] = wrk.host .. ":" .. wrk.port,
    ["Content-Type"] = "application/x-amz-json-1.0",
    ["X-Amz-Target"] = "DynamoDB_20120810." .. operation,
    ["X-Amz-Date"] = date,
    ["Authorization"] = "AWS4-HMAC-SHA256 Credential=AKID/" .. date:sub(1, 8)
      .. "/us-east-1/dynamodb/aws4_request, SignedHeaders=host;x-amz-date;x-amz-target, Signature="
      .. string.rep("0", 64),
    ["X-Stator-As-Of"] = moment,
  }, body)
end

function init(args)
  local workload, items, seed = args[1], tonumber(args[2]), tonumber(args[3])
  item_count = items
  moment = args[4]
  math.randomseed(seed)
  pool = text(65536)
  for n = 1, kRequests do
    local kind = workload
    if workload == "mixed" then kind = n % 2 == 0 and "get" or "put" end
    requests[n] = request_of(kind, math.random(0, items - 1))
  end
  count = kRequests
  -- Pages differ in length at the end of the table, so what a scan read is counted. Other replies are not looked at.
  if workload == "filter" then
    function response(status, headers, body)
      scanned = scanned + tonumber(body:match('"ScannedCount":(%d+)') or 0)
    end
  end
end

function request()
  next_request = next_request + 1
  if next_request > count then next_request = 1 end
  return requests[next_request]
end

function done(summary, latency)
  local scanned = thread:get("scanned")
  local e = summary.errors
  io.write(string.format(
    'RESULT {"requests":%d,"us":%d,"p50":%d,"p99":%d,"p999":%d,"max":%d,"refused":%d,"broken":%d,"scanned":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    latency:percentile(99.9), latency.max, e.status, e.connect + e.read + e.write + e.timeout, scanned))
end

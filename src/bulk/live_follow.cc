#include "bulk/live_follow.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/json_writer.h"
#include "bulk/live_items.h"
#include "simdjson.h"

namespace stator::bulk {
namespace {

using Element = simdjson::dom::element;

constexpr size_t kMostReaders = 16;
constexpr int kPagesOfTurn = 20;             // of a shard, before other shards have their turn
constexpr int kNothingMeansCaughtUp = 4;     // the service may answer nothing before there is more
constexpr int64_t kBetweenRounds = 200'000;  // a shard may be asked five times in a second
// A stream keeps records for 24 hours. Those that are needed should be read well before.
constexpr int64_t kMostBehind = int64_t{23} * 3600 * 1'000'000;

Error Odd(std::string_view operation) {
  return Error(ErrorCode::kUnavailable,
               fmt::format("the answer to {} is not what DynamoDB answers", operation));
}

std::string TextOf(Element from, std::string_view name) {
  std::string_view text;
  return from[name].get(text) == simdjson::SUCCESS ? std::string(text) : std::string();
}

}  // namespace

Result<std::vector<ListedShard>> ListShards(api_client::Client& streams,
                                            const std::string& stream) {
  std::vector<ListedShard> shards;
  std::string last;
  do {
    JsonWriter json;
    json.Open('{').Field("StreamArn", stream);
    if (!last.empty()) json.Field("ExclusiveStartShardId", last);
    ASSIGN_OR_RETURN(
        const std::string answer,
        streams.Call("DynamoDBStreams_20120810.DescribeStream", json.Close('}').Take()));
    simdjson::dom::parser parser;
    Element root;
    simdjson::dom::array page;
    if (parser.parse(answer).get(root) != simdjson::SUCCESS ||
        root["StreamDescription"].get(root) != simdjson::SUCCESS ||
        root["Shards"].get(page) != simdjson::SUCCESS)
      return Odd("DescribeStream");
    for (const Element each : page) {
      ListedShard shard{TextOf(each, "ShardId"), TextOf(each, "ParentShardId"), false};
      std::string_view end;
      shard.ended =
          each["SequenceNumberRange"]["EndingSequenceNumber"].get(end) == simdjson::SUCCESS;
      shards.push_back(std::move(shard));
    }
    last = TextOf(root, "LastEvaluatedShardId");
  } while (!last.empty());
  return shards;
}

Follower::Follower(const LiveSettings& settings, const Surroundings& around,
                   const model::KeySchema& key, LiveProgress& progress)
    : settings_(settings),
      around_(around),
      key_(key),
      progress_(progress),
      stream_(progress.state().stream),
      clients_(std::min(settings.segments, kMostReaders)) {
  for (Clients& each : clients_) {
    each.streams = MakeClient(api_client::StreamsOf(settings.source), around);
    each.target = MakeClient(settings.target, around);
  }
}

Status Follower::Refresh() {
  ASSIGN_OR_RETURN(const std::vector<ListedShard> listed,
                   ListShards(*clients_[0].streams, stream_));
  Status merged = OkStatus();
  TRY(progress_.Update(true,
                       [&](LiveState* state) { merged = MergeShards(listed, &state->shards); }));
  return merged;
}

Result<std::string> Follower::IteratorOf(const FollowedShard& shard, const Clients& clients) {
  const LiveState state = progress_.state();
  const int64_t behind = around_.clock.NowMicros() - state.safe_micros;
  // If nothing was read from the shard yet, there is no position from which the server could detect
  // trimmed records. So the age decides.
  if (shard.position.empty() && behind > kMostBehind) {
    return RecordsTrimmed(
        fmt::format("the target was last known to be whole {} hours ago", behind / 3'600'000'000));
  }
  JsonWriter json;
  json.Open('{').Field("StreamArn", stream_).Field("ShardId", shard.id);
  if (shard.position.empty()) {
    json.Field("ShardIteratorType", "TRIM_HORIZON");
  } else {
    json.Field("ShardIteratorType", "AFTER_SEQUENCE_NUMBER");
    json.Field("SequenceNumber", shard.position);
  }
  const Result<std::string> answer =
      clients.streams->Call("DynamoDBStreams_20120810.GetShardIterator", json.Close('}').Take());
  if (!answer.ok()) {
    const std::string_view type = api_client::RefusalType(answer.error());
    if (type == "TrimmedDataAccessException" || type == "ResourceNotFoundException")
      return RecordsTrimmed(answer.error().message());
    return answer.error();
  }
  simdjson::dom::parser parser;
  Element root;
  if (parser.parse(*answer).get(root) != simdjson::SUCCESS) return Odd("GetShardIterator");
  std::string iterator = TextOf(root, "ShardIterator");
  if (iterator.empty()) return Odd("GetShardIterator");
  return iterator;
}

Status Follower::ReadShard(const FollowedShard& listed, Clients& clients, Reader* reader) {
  FollowedShard shard = listed;
  for (int pages = 0; pages < kPagesOfTurn && !around_.stop.stopped(); ++pages) {
    if (reader->iterator.empty()) {
      ASSIGN_OR_RETURN(reader->iterator, IteratorOf(shard, clients));
    }
    JsonWriter json;
    json.Open('{').Field("ShardIterator", reader->iterator).Close('}');
    const Result<std::string> answer =
        clients.streams->Call("DynamoDBStreams_20120810.GetRecords", json.Take());
    if (!answer.ok()) {
      const std::string_view type = api_client::RefusalType(answer.error());
      if (type == "TrimmedDataAccessException" || type == "ResourceNotFoundException")
        return RecordsTrimmed(answer.error().message());
      if (type != "ExpiredIteratorException") return answer.error();
      // Iterators live for minutes. The position is that of the last record, so nothing is lost.
      reader->iterator.clear();
      for (const FollowedShard& known : progress_.state().shards)
        if (known.id == shard.id) shard = known;
      continue;
    }
    TRY(ApplyPage(shard, *answer, clients, reader));
    if (reader->ended || reader->nothing > 0) return OkStatus();
  }
  return OkStatus();
}

Status Follower::ApplyPage(const FollowedShard& shard, const std::string& answer, Clients& clients,
                           Reader* reader) {
  simdjson::dom::parser parser;
  Element root;
  simdjson::dom::array records;
  if (parser.parse(answer).get(root) != simdjson::SUCCESS ||
      root["Records"].get(records) != simdjson::SUCCESS)
    return Odd("GetRecords");
  ASSIGN_OR_RETURN(RecordPage page, ChangesOf(records, key_, settings_.mask));
  // All of a page is in the target before the next page is read: that keeps the order of a key.
  TRY(WriteInBatches(*clients.target, settings_.table, std::move(page.changes),
                     [this](const Change& change, const std::string& message) {
                       return progress_.Refused(key_, change, message);
                     }));
  reader->iterator = TextOf(root, "NextShardIterator");
  reader->ended = reader->iterator.empty();
  reader->nothing = page.records == 0 ? reader->nothing + 1 : 0;
  if (page.created_micros > 0) reader->created_micros = page.created_micros;
  records_.fetch_add(static_cast<int64_t>(page.records), std::memory_order_relaxed);
  if (page.records == 0 && !reader->ended) return OkStatus();
  return progress_.Update(false, [&](LiveState* state) {
    state->records += static_cast<int64_t>(page.records);
    for (FollowedShard& known : state->shards) {
      if (known.id != shard.id) continue;
      if (!page.last.empty()) known.position = page.last;
      known.done = reader->ended;
    }
  });
}

Result<bool> Follower::ReadRound() {
  const std::vector<FollowedShard> shards = progress_.state().shards;
  const std::vector<size_t> ready = ReadyShards(shards);
  for (const size_t i : ready) readers_[shards[i].id];
  std::atomic<size_t> next{0};
  const size_t threads = std::min(clients_.size(), ready.size());
  const auto retries = [this] {
    int64_t sum = 0;
    for (const Clients& each : clients_) sum += each.streams->retries() + each.target->retries();
    return sum;
  };
  TRY(RunTogether(threads, around_.stop, [&](size_t thread) -> Status {
    for (size_t at = next++; at < ready.size(); at = next++) {
      const FollowedShard& shard = shards[ready[at]];
      TRY(ReadShard(shard, clients_[thread], &readers_.find(shard.id)->second));
    }
    return OkStatus();
  }));
  retries_.store(retries(), std::memory_order_relaxed);
  bool ended = false, nothing = true;
  int64_t oldest = 0;
  for (const size_t i : ready) {
    const Reader& reader = readers_[shards[i].id];
    ended = ended || reader.ended;
    nothing = nothing && reader.nothing > 0;
    const bool counts = reader.nothing == 0 && reader.created_micros > 0;
    if (counts && (oldest == 0 || reader.created_micros < oldest)) oldest = reader.created_micros;
  }
  lag_micros_.store(oldest == 0 ? 0 : std::max<int64_t>(around_.clock.NowMicros() - oldest, 0),
                    std::memory_order_relaxed);
  // A shard ends when it is split, or after some hours: its children are listed then.
  if (ended) TRY(Refresh());
  for (const size_t i : ready) {
    if (!readers_[shards[i].id].ended) continue;
    readers_.erase(shards[i].id);
    ended_.insert(shards[i].id);
  }
  return nothing && !ended;
}

bool Follower::WaitsForChildren() const {
  std::set<std::string> childless = ended_;
  for (const FollowedShard& shard : progress_.state().shards) childless.erase(shard.parent);
  return !childless.empty();
}

bool Follower::IsCaughtUp(int64_t since_micros) const {
  const std::vector<FollowedShard> shards = progress_.state().shards;
  for (const size_t i : ReadyShards(shards)) {
    const auto reader = readers_.find(shards[i].id);
    if (reader == readers_.end()) return false;
    const bool rests = reader->second.nothing >= kNothingMeansCaughtUp;
    if (!rests && reader->second.created_micros < since_micros) return false;
  }
  return true;
}

Status Follower::CatchUp() {
  const int64_t began = around_.clock.NowMicros();
  for (auto& [id, reader] : readers_) {
    reader.nothing = 0;
    reader.created_micros = 0;
  }
  TRY(Refresh());
  int64_t seen = around_.clock.TicksMicros();
  for (;;) {
    ASSIGN_OR_RETURN(const bool nothing, ReadRound());
    if (around_.stop.stopped()) return Error(ErrorCode::kUnavailable, "interrupted");
    if (!WaitsForChildren()) {
      seen = around_.clock.TicksMicros();
      if (IsCaughtUp(began)) break;
    } else if (around_.clock.TicksMicros() - seen > around_.patience_micros) {
      return CorruptionError("the source's stream has ended: it was disabled. Start again");
    } else {
      TRY(Refresh());
    }
    if (nothing && !around_.pause(kBetweenRounds))
      return Error(ErrorCode::kUnavailable, "interrupted");
  }
  return progress_.Update(true, [&](LiveState* state) { state->safe_micros = began; });
}

}  // namespace stator::bulk

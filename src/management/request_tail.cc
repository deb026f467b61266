#include "management/request_tail.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/json_writer.h"
#include "base/time_text.h"
#include "base/whole_characters.h"

namespace stator::management {
namespace {

using request_log::Consistency;
using request_log::KeyUse;
using request_log::Outcome;
using request_log::Request;

std::string_view OutcomeText(Outcome outcome) {
  switch (outcome) {
    case Outcome::kServed: return "served";
    case Outcome::kThrottled: return "throttled";
    case Outcome::kConditionFailed: return "condition failed";
    case Outcome::kCancelled: return "cancelled";
  }
  return "served";
}

std::string_view ConsistencyText(Consistency consistency) {
  switch (consistency) {
    case Consistency::kEventual: return "eventual";
    case Consistency::kStrong: return "strong";
    case Consistency::kTransactional: return "transactional";
  }
  return "eventual";
}

// Cuts a text before a byte that continues a character.
void Cut(std::string* text, size_t most) {
  if (text->size() <= most) return;
  text->resize(Beginning(*text, most).size());
  text->shrink_to_fit();
  *text += "…";
}

void RenderKeys(const std::vector<KeyUse>& keys, JsonWriter* json) {
  json->Key("keys").Open('[');
  for (const KeyUse& key : keys) {
    json->Open('{').Field("partition", key.partition).Key("sort");
    key.sort.empty() ? json->Null() : json->Text(key.sort);
    json->Close('}');
  }
  json->Close(']');
}

void RenderOptional(std::string_view name, const std::optional<int64_t>& number, JsonWriter* json) {
  json->Key(name);
  number ? json->Whole(*number) : json->Null();
}

}  // namespace

void RequestTail::Take(std::vector<Request> requests) {
  const bool next = next_ != nullptr && next_->on();
  if (watched_.load(std::memory_order_relaxed)) {
    const int64_t now = machine_.TicksMicros();
    MutexLock lock(mutex_);
    if (now - asked_ticks_ > kWatchMicros) {
      watched_.store(false, std::memory_order_relaxed);
      kept_.clear();
    } else {
      for (Request& request : requests) {
        if (next) {
          Keep(request, now);
        } else {
          Keep(std::move(request), now);
        }
      }
    }
  }
  if (next) next_->Take(std::move(requests));
}

void RequestTail::Keep(Request request, int64_t now) {
  if (const int64_t second = now / 1'000'000; second != second_) {
    second_ = second;
    in_second_ = 0;
  }
  if (++in_second_ > kMostPerSecond) {
    ++skipped_;
    return;
  }
  Kept kept;
  kept.seq = ++seq_;
  kept.took_micros = clock_.NowMicros() - request.at_micros;
  kept.keys = request.keys.size();
  if (request.keys.size() > kMostKeys) {
    request.keys.resize(kMostKeys);
    request.keys.shrink_to_fit();
  }
  for (KeyUse& key : request.keys) {
    Cut(&key.partition, kMostKeyBytes);
    Cut(&key.sort, kMostKeyBytes);
  }
  // These can be long, and the answer has none of them.
  request.attributes = {};
  request.filter = {};
  for (request_log::IndexWrite& write : request.index_writes) write.partition = {};
  kept.request = std::move(request);
  kept_.push_back(std::move(kept));
  if (kept_.size() > kMostKept) kept_.pop_front();
}

std::string RequestTail::Since(int64_t since, int64_t limit) {
  const int64_t now = machine_.TicksMicros();
  JsonWriter json;
  MutexLock lock(mutex_);
  if (!watched_.load(std::memory_order_relaxed) || now - asked_ticks_ > kWatchMicros) kept_.clear();
  asked_ticks_ = now;
  watched_.store(true, std::memory_order_relaxed);
  auto first = std::find_if(kept_.begin(), kept_.end(),
                            [since](const Kept& one) { return one.seq > since; });
  if (kept_.end() - first > limit) first = kept_.end() - limit;
  json.Open('{').Key("seq").Whole(seq_).Key("skipped").Whole(skipped_);
  json.Key("requests").Open('[');
  for (; first != kept_.end(); ++first) {
    const Request& request = first->request;
    json.Open('{').Key("seq").Whole(first->seq).Field("at", FormatTime(request.at_micros));
    json.Field("operation", request.operation).Field("table", request.table).Key("index");
    request.index.empty() ? json.Null() : json.Text(request.index);
    RenderKeys(request.keys, &json);
    json.Key("keyCount").Whole(static_cast<int64_t>(first->keys));
    double write_units = request.write_units;
    for (const request_log::IndexWrite& write : request.index_writes) write_units += write.units;
    json.Field("read", request.read_units).Field("write", write_units);
    RenderOptional("scanned", request.scanned, &json);
    RenderOptional("returned", request.returned, &json);
    RenderOptional("bytes", request.stored_bytes, &json);
    json.Field("consistency", ConsistencyText(request.consistency));
    json.Field("outcome", OutcomeText(request.outcome)).Key("milliseconds");
    manual_ ? json.Null() : json.Number(static_cast<double>(first->took_micros) / 1000);
    json.Close('}');
  }
  json.Close(']').Close('}');
  return json.Take();
}

}  // namespace stator::management

#include "management/recording.h"

#include <fmt/format.h>

#include <utility>

#include "base/json_writer.h"
#include "base/time_text.h"
#include "simdjson.h"

namespace stator::management {
namespace {

using request_log::Request;

// An allocation takes this beside its bytes.
constexpr size_t kAllocation = 16;

size_t Heap(const std::string& text) {
  // Short texts lie in the object itself.
  return text.capacity() > std::string().capacity() ? text.capacity() + kAllocation : 0;
}

template <typename Elements, typename Inner>
size_t Heap(const Elements& elements, Inner&& inner) {
  size_t bytes = elements.capacity() == 0 ? 0 : kAllocation;
  bytes += elements.capacity() * sizeof(elements[0]);
  for (const auto& element : elements) bytes += inner(element);
  return bytes;
}

size_t WeightOf(const Request& request) {
  const auto text = [](const std::string& one) { return Heap(one); };
  size_t bytes =
      sizeof(Request) + Heap(request.operation) + Heap(request.table) + Heap(request.index);
  bytes += Heap(request.keys, [](const request_log::KeyUse& key) {
    return Heap(key.partition) + Heap(key.sort);
  });
  bytes += Heap(request.index_writes, [](const request_log::IndexWrite& write) {
    return Heap(write.index) + Heap(write.partition);
  });
  return bytes + Heap(request.attributes, text) + Heap(request.filter, text);
}

}  // namespace

void Recording::Take(std::vector<Request> requests) {
  const bool next = next_ != nullptr && next_->on();
  if (on_.load(std::memory_order_relaxed)) {
    MutexLock lock(mutex_);
    if (machine_.TicksMicros() >= end_ticks_) {
      on_.store(false, std::memory_order_relaxed);
    } else if (on_.load(std::memory_order_relaxed)) {  // else End came first
      for (Request& request : requests) {
        if (next) {
          Keep(request);
        } else {
          Keep(std::move(request));
        }
      }
    }
  }
  if (next) next_->Take(std::move(requests));
}

void Recording::Keep(Request request) {
  if (open_.requests.capacity() == 0) open_.requests.reserve(kChunkRequests);
  open_.bytes += WeightOf(request);
  open_.requests.push_back(std::move(request));
  ++kept_;
  if (open_.requests.size() >= kChunkRequests || open_.bytes >= kChunkBytes) Seal();
  while (sealed_bytes_ + open_.bytes > kMostBytes && !sealed_.empty()) {
    const auto gone = static_cast<int64_t>(sealed_.front()->requests.size());
    sealed_bytes_ -= sealed_.front()->bytes;
    sealed_.pop_front();
    kept_ -= gone;
    dropped_ += gone;
  }
}

void Recording::Seal() {
  const size_t spare = open_.requests.capacity() - open_.requests.size();
  open_.bytes += spare * sizeof(Request);
  sealed_bytes_ += open_.bytes;
  sealed_.push_back(std::make_shared<const Chunk>(std::exchange(open_, Chunk())));
}

void Recording::Begin(int64_t minutes) {
  MutexLock lock(mutex_);
  const int64_t now = machine_.TicksMicros();
  const bool runs = on_.load(std::memory_order_relaxed) && now < end_ticks_;
  if (!runs) {
    sealed_.clear();
    open_ = Chunk();
    sealed_bytes_ = 0;
    kept_ = 0;
    dropped_ = 0;
    begun_micros_ = clock_.NowMicros();
  }
  end_ticks_ = now + minutes * 60'000'000;
  on_.store(true, std::memory_order_relaxed);
}

void Recording::End() {
  MutexLock lock(mutex_);
  on_.store(false, std::memory_order_relaxed);
}

Recording::View Recording::view() {
  MutexLock lock(mutex_);
  const int64_t left = end_ticks_ - machine_.TicksMicros();
  View view;
  view.on = on_.load(std::memory_order_relaxed) && left > 0;
  view.begun_micros = begun_micros_;
  view.left_seconds = view.on ? (left + 999'999) / 1'000'000 : 0;
  view.requests = kept_;
  view.dropped = dropped_;
  view.bytes = sealed_bytes_ + open_.bytes;
  return view;
}

std::vector<Recording::ChunkPtr> Recording::Chunks() {
  MutexLock lock(mutex_);
  std::vector<ChunkPtr> chunks(sealed_.begin(), sealed_.end());
  if (!open_.requests.empty()) chunks.push_back(std::make_shared<const Chunk>(open_));
  return chunks;
}

Result<int64_t> MinutesIn(std::string_view body) {
  if (body.find_first_not_of(" \t\r\n") == std::string_view::npos) return Recording::kMinutes;
  simdjson::dom::parser parser;
  simdjson::dom::object json;
  int64_t minutes = Recording::kMinutes;
  if (parser.parse(simdjson::padded_string(body)).get(json) != simdjson::SUCCESS)
    return ValidationError(R"(The body must be an object such as {"minutes": 60})");
  for (const auto [name, value] : json) {
    if (name != "minutes")
      return ValidationError(fmt::format("There is no member {} here", std::string(name)));
    if (value.get(minutes) != simdjson::SUCCESS || minutes < 1 ||
        minutes > Recording::kMostMinutes) {
      return ValidationError(
          fmt::format("minutes must be a whole number from 1 to {}", Recording::kMostMinutes));
    }
  }
  return minutes;
}

std::string RenderRecording(const Recording::View& view) {
  JsonWriter json;
  json.Open('{').Key("on").Bool(view.on).Key("since");
  view.begun_micros == 0 ? json.Null() : json.Text(FormatTime(view.begun_micros));
  json.Key("secondsLeft").Whole(view.left_seconds).Key("requests").Whole(view.requests);
  json.Key("dropped").Whole(view.dropped).Key("bytes").Whole(static_cast<int64_t>(view.bytes));
  json.Key("mostBytes").Whole(static_cast<int64_t>(Recording::kMostBytes)).Close('}');
  return json.Take();
}

}  // namespace stator::management

#include "kv/engine.h"

#include <future>

#include "kv/fixed_bytes.h"

namespace stator::kv {

uint64_t StampOf(std::string_view value) {
  return value.size() < kStampBytes ? 0 : LoadLittle64(value.data());
}

void SetStamp(std::string* value, uint64_t stamp) { StoreLittle64(value->data(), stamp); }

void SetKeyStamp(std::string* key, size_t offset, uint64_t stamp) {
  StoreBig64(key->data() + offset, stamp);
}

std::string EncodeCounter(uint64_t stamp, int64_t count) {
  std::string value(kCounterBytes, '\0');
  StoreLittle64(value.data(), stamp);
  StoreLittle64(value.data() + kStampBytes, static_cast<uint64_t>(count));
  return value;
}

Result<int64_t> CounterOf(std::string_view value) {
  if (value.size() != kCounterBytes) {
    return CorruptionError("a counter has " + std::to_string(value.size()) + " bytes instead of " +
                           std::to_string(kCounterBytes) + ".");
  }
  return static_cast<int64_t>(LoadLittle64(value.data() + kStampBytes));
}

bool IsVoid(const Batch& batch) {
  for (const FatePtr& fate : batch.after) {
    if (fate->failed.load(std::memory_order_acquire)) return true;
  }
  return false;
}

Error VoidBatchError() {
  return Error(ErrorCode::kUnavailable,
               "Not applied: an earlier write that this one builds on has failed. Retry.");
}

Status CheckBatch(const Batch& batch) {
  for (const Put& put : batch.puts) {
    if (put.value.size() < kStampBytes)
      return InternalError("a put leaves no room for its stamp in the value.");
    if (put.key_stamp_offset >= 0 &&
        static_cast<size_t>(put.key_stamp_offset) + kStampBytes > put.key.size()) {
      return InternalError("a put leaves no room for its stamp in the key.");
    }
  }
  return OkStatus();
}

Status Engine::VisitTogether(std::span<const Point> points, Tier tier, VisitPoint visit) {
  std::vector<std::optional<std::string>> values;
  TRY(MultiGet(points, tier, &values));
  for (size_t i = 0; i < values.size(); ++i) {
    std::optional<std::string_view> value;
    if (values[i]) value = *values[i];
    if (!visit(i, value)) break;
  }
  return OkStatus();
}

void Engine::GetLater(Tablet tablet, std::string_view key, GetDone done) {
  std::string value;
  const Result<bool> exists = Get(tablet, key, Tier::kAny, &value);
  if (!exists.ok()) return done(exists.error());
  done(*exists ? std::optional(std::move(value)) : std::nullopt);
}

Result<uint64_t> ApplyAndWait(Engine& engine, Batch batch) {
  std::promise<Result<uint64_t>> outcome;
  std::future<Result<uint64_t>> waiting = outcome.get_future();
  engine.Apply(std::move(batch),
               [&outcome](Result<uint64_t> stamp) { outcome.set_value(std::move(stamp)); });
  return waiting.get();
}

}  // namespace stator::kv

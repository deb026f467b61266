#include "store_backup/flow.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

namespace stator::store_backup {
namespace {

// A stop is noticed within this time.
constexpr int64_t kLongestSleepMicros = 20'000;

struct FreeHash {
  void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};

}  // namespace

Status Flow::CheckStop() const {
  if (options_.stop == nullptr || !options_.stop->load(std::memory_order_relaxed))
    return OkStatus();
  return Error(ErrorCode::kUnavailable, "The server is stopping.");
}

Status Flow::Moved(size_t bytes) {
  bytes_ += bytes;
  if (options_.moved) options_.moved(bytes);
  while (options_.bytes_per_second > 0) {
    const double due =
        static_cast<double>(bytes_) * 1e6 / static_cast<double>(options_.bytes_per_second);
    const int64_t early = began_micros_ + static_cast<int64_t>(due) - clock_.TicksMicros();
    if (early <= 0) break;
    TRY(CheckStop());
    std::this_thread::sleep_for(std::chrono::microseconds(std::min(early, kLongestSleepMicros)));
  }
  return CheckStop();
}

Result<std::string> ReadThrough(transfer::ObjectReader& reader, Flow& flow, const Sink& sink) {
  const std::unique_ptr<XXH3_state_t, FreeHash> hash(XXH3_createState());
  XXH3_128bits_reset(hash.get());
  std::string piece;
  for (uint64_t at = 0; at < reader.size(); at += piece.size()) {
    const size_t wanted = std::min<uint64_t>(kPieceBytes, reader.size() - at);
    TRY(reader.Read(at, wanted, &piece));
    if (piece.empty()) break;  // it became shorter: the hash is another
    XXH3_128bits_update(hash.get(), piece.data(), piece.size());
    if (sink) TRY(sink(piece));
    TRY(flow.Moved(piece.size()));
  }
  const XXH128_hash_t digest = XXH3_128bits_digest(hash.get());
  return fmt::format("{:016x}{:016x}", digest.high64, digest.low64);
}

Status ReadChecked(Place& place, const File& file, Flow& flow, const Sink& sink) {
  const std::string name = ObjectName(file);
  const auto damaged = [&](std::string_view why) {
    return CorruptionError(fmt::format("The object {}/{}, which has the file {} of the store, {}.",
                                       place.name(), name, file.name, why));
  };
  Result<std::unique_ptr<transfer::ObjectReader>> reader = place.Read(name);
  if (!reader.ok()) {
    if (reader.error().code() == ErrorCode::kResourceNotFound) return damaged("is missing");
    return std::move(reader).error();
  }
  if ((*reader)->size() != file.bytes)
    return damaged(fmt::format("has {} bytes in place of {}", (*reader)->size(), file.bytes));
  ASSIGN_OR_RETURN(const std::string hash, ReadThrough(**reader, flow, sink));
  if (hash != file.hash) return damaged("is damaged or another: its checksum does not fit");
  return OkStatus();
}

}  // namespace stator::store_backup

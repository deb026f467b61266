#include "kv_rados/part.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <new>

#include "base/prefetch.h"
#include "kv_rados/routing.h"

namespace stator::kv_rados {
namespace {

constexpr size_t kMaxReadKeys = 1000;
constexpr uint32_t kGuessedBytes = 4096;  // of a key and its value, before any was seen

}  // namespace

SeenSizes::SeenSizes() : slots_(static_cast<Slot*>(std::calloc(kSlots, sizeof(Slot))), &std::free) {
  if (slots_ == nullptr) throw std::bad_alloc();
}

void SeenSizes::Note(std::span<const Seen> seen) {
  // The table is larger than a core's cache, so that each note of a Query would wait for memory.
  for (const Seen& one : seen) Prefetch(&SlotOf(one.place), sizeof(Slot));
  for (const Seen& one : seen) {
    MutexLock lock(MutexOf(one.place));
    SlotOf(one.place) = {RestOf(one.place), static_cast<uint32_t>(one.bytes), one.stamp};
  }
}

std::optional<size_t> SeenSizes::Find(uint64_t place, std::optional<uint64_t> stamp) const {
  MutexLock lock(MutexOf(place));
  const Slot& slot = SlotOf(place);
  const bool is_meant = stamp ? slot.stamp == *stamp : slot.stamp != 0;
  return slot.place == RestOf(place) && is_meant ? std::optional<size_t>(slot.bytes) : std::nullopt;
}

uint64_t Part::PlaceOf(std::string_view key) const {
  return std::hash<std::string_view>()(key) ^ hash_;
}

void Part::NoteBytes(size_t bytes) const {
  const uint32_t mean = mean_bytes_.load(std::memory_order_relaxed);
  const auto now = static_cast<uint32_t>(std::min<size_t>(bytes, 1 << 20));
  mean_bytes_.store(mean == 0 ? now : mean - mean / 8 + now / 8, std::memory_order_relaxed);
}

size_t Part::MeanBytes() const {
  const uint32_t mean = mean_bytes_.load(std::memory_order_relaxed);
  return mean == 0 ? kGuessedBytes : mean;
}

size_t Part::KeysFor(size_t bytes) const {
  return std::clamp<size_t>(bytes / MeanBytes(), 1, kMaxReadKeys);
}

HeaderPtr Part::header() const {
  MutexLock lock(mutex_);
  return header_;
}

Result<HeaderPtr> Part::Learn(std::string_view bytes) const {
  {
    MutexLock lock(mutex_);
    if (header_ != nullptr && header_->bytes == bytes) return header_;
  }
  Result<PartHeader> decoded = DecodeHeader(bytes);
  if (!decoded.ok() && decoded.error().code() == ErrorCode::kCorruption) {
    return CorruptionError(
        fmt::format("The header of the object {} is {}. That was not done by Stator; bring the "
                    "object back from a backup.",
                    object, bytes.empty() ? "missing" : "damaged"));
  }
  if (!decoded.ok()) return decoded.error();
  if (decoded->tablet != tablet || decoded->part != number) {
    return CorruptionError(fmt::format("The object {} says that it is part {} of {}.", object,
                                       decoded->part, TabletName(decoded->tablet)));
  }
  auto known = std::make_shared<KnownHeader>(KnownHeader{std::string(bytes), std::move(*decoded)});
  MutexLock lock(mutex_);
  if (header_ == nullptr || header_->header.epoch < known->header.epoch) header_ = std::move(known);
  return header_;
}

void Part::Forget(const HeaderPtr& header) const {
  MutexLock lock(mutex_);
  if (header_ == header) header_ = nullptr;
}

Result<HeaderPtr> ReadHeader(Cluster& cluster, const Part& part) {
  const HeaderPtr before = part.header();
  std::unique_ptr<ReadOp> read;
  const int result = cluster.Read(
      part.object, [](ReadOp& op) { op.Attributes(); }, &read);
  if (result < 0) return cluster.ErrorOf(result, part.object, false);
  const std::string bytes = read->attribute(kHeaderAttribute);
  if (before != nullptr && before->bytes != bytes) part.Forget(before);
  return part.Learn(bytes);
}

Result<HeaderPtr> ReplaceHeader(Cluster& cluster, const Part& part, const HeaderPtr& from,
                                PartHeader to) {
  to.epoch = from->header.epoch + 1;
  const std::string bytes = EncodeHeader(to);
  const int result = cluster.WriteAgain(part.object, [&](WriteOp& op) {
    op.GuardAttribute(kHeaderAttribute, from->bytes);
    op.SetAttribute(kHeaderAttribute, bytes);
  });
  if (result == -ECANCELED) return HeaderPtr();
  if (result < 0) return cluster.ErrorOf(result, part.object, true);
  return part.Learn(bytes);
}

Error FencedError(const PartHeader& header) {
  return Error(ErrorCode::kFenced,
               header.fence == kv::kDroppedFence
                   ? fmt::format("The tablet {} was dropped.", TabletName(header.tablet))
                   : fmt::format("The fence of the tablet {} is {}.", TabletName(header.tablet),
                                 header.fence));
}

Result<bool> WalkPart(Cluster& cluster, const Part& part, const HeaderPtr& header,
                      FunctionRef<void(std::string_view key, size_t bytes, uint64_t stamp)> visit) {
  const std::string prefix(1, kKeyCell);
  std::string after = prefix;
  for (bool more = true; more;) {
    std::unique_ptr<ReadOp> read;
    const int result = cluster.Read(
        part.object,
        [&](ReadOp& op) {
          op.GuardAttribute(kHeaderAttribute, header->bytes);
          op.Range(after, prefix, part.KeysFor(cluster.limits().read_bytes));
        },
        &read);
    if (result == -ECANCELED || result == -ENOENT) return false;
    if (result < 0) return cluster.ErrorOf(result, part.object, false);
    more = read->more(0);
    Status status;
    read->ForEach(0, [&](std::string_view cell, std::string_view stored) {
      part.NoteBytes(cell.size() + stored.size());
      after = cell;
      const Result<std::string> key = KeyOfCell(cell);
      if (!key.ok()) return status = key.error(), false;
      const std::optional<std::string_view> route = RouteOf(part.tablet.space, *key);
      // What was given up may still be there.
      if (!route || header->header.routes.Has(*route))
        visit(*key, StoredCellBytes(cell.size(), stored.size()), kv::StampOf(stored));
      return true;
    });
    TRY(std::move(status));
  }
  return true;
}

}  // namespace stator::kv_rados

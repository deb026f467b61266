#include "kv_rados/tablet_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

namespace stator::kv_rados {
namespace {

constexpr int kMaxRounds = 50;
constexpr int64_t kOpeningWaitMicros = 5'000, kMaxOpeningWaitMicros = 50'000;

}  // namespace

Result<std::optional<MapEntry>> ReadMapEntry(Cluster& cluster, kv::Tablet tablet) {
  const std::string name = TabletName(tablet);
  std::unique_ptr<ReadOp> read;
  size_t keys = 0;
  const int result = cluster.Read(
      kStoreObject,
      [&](ReadOp& op) {
        cluster.format().Guard(op);
        keys = op.Keys({&name, 1});
      },
      &read);
  if (result == -ECANCELED) {
    const Result<bool> changed = RereadFormat(cluster);
    if (changed.ok()) return ReadMapEntry(cluster, tablet);
    return Error(changed.error().code(),
                 "The store was changed by a newer Stator while this one ran. Upgrade this one. " +
                     changed.error().message());
  } else if (result < 0) {
    return cluster.ErrorOf(result, kStoreObject, false);
  }
  std::optional<std::string> bytes;
  read->ForEach(keys, [&bytes](std::string_view, std::string_view value) {
    bytes = value;
    return true;
  });
  if (!bytes) return std::optional<MapEntry>();
  ASSIGN_OR_RETURN(MapEntry entry, DecodeMapEntry(*bytes));
  return std::optional(std::move(entry));
}

// ---- the list of parts --------------------------------------------------------------------------

PartListPtr TabletMap::Cached(kv::Tablet tablet) const {
  MutexLock lock(mutex_);
  auto found = tablets_.find(tablet);
  return found == tablets_.end() ? nullptr : found->second;
}

PartListPtr TabletMap::Merge(kv::Tablet tablet, const std::map<std::string, uint32_t>& parts) {
  MutexLock lock(mutex_);
  PartListPtr& known = tablets_[tablet];
  auto merged =
      known == nullptr ? std::make_shared<PartList>() : std::make_shared<PartList>(*known);
  for (const auto& [begin, number] : parts) {
    if (merged->find(begin) == merged->end())
      merged->emplace(begin, std::make_shared<Part>(tablet, number, seen_));
  }
  return known = std::move(merged);
}

void TabletMap::Add(kv::Tablet tablet, const std::string& begin, uint32_t number) {
  Merge(tablet, {{begin, number}});
}

Result<PartListPtr> TabletMap::Load(kv::Tablet tablet) {
  ASSIGN_OR_RETURN(const std::optional<MapEntry> entry, ReadMapEntry(cluster_, tablet));
  return entry ? Merge(tablet, entry->parts) : PartListPtr();
}

Result<bool> TabletMap::WasWritten(kv::Tablet tablet) {
  const std::string object = PartObject(tablet, 0);
  std::unique_ptr<ReadOp> read;
  const int result = cluster_.Read(
      object, [](ReadOp& op) { op.Attributes(); }, &read);
  if (result == -ENOENT) return false;
  if (result < 0) return cluster_.ErrorOf(result, object, false);
  ASSIGN_OR_RETURN(const uint64_t stamp, DecodeStamp(read->attribute(kStampAttribute)));
  return stamp > 0;
}

Result<PartListPtr> TabletMap::Parts(kv::Tablet tablet) {
  ASSIGN_OR_RETURN(PartListPtr parts, Find(tablet));
  if (parts == nullptr) on_unwritten_(tablet);
  return parts;
}

Result<PartListPtr> TabletMap::Find(kv::Tablet tablet) {
  if (PartListPtr parts = Cached(tablet)) return parts;
  for (bool again = false;; again = true) {
    ASSIGN_OR_RETURN(PartListPtr parts, Load(tablet));
    if (parts != nullptr) return parts;
    // Another process may have made it and written to it between the two reads, so the map is asked
    // once more.
    ASSIGN_OR_RETURN(const bool written, WasWritten(tablet));
    if (!written) return PartListPtr();
    if (again) {
      return CorruptionError(
          fmt::format("The tablet {} was written to, and the object \"{}\" has no entry of it. "
                      "Bring that object back from a backup.",
                      TabletName(tablet), kStoreObject));
    }
  }
}

Status TabletMap::Create(kv::Tablet tablet) {
  const MapEntry entry{.parts = {{"", 0}}};
  const std::string object = PartObject(tablet, 0);
  WriteOp create(cluster_.api());
  create.CreateExclusively();
  create.SetAttribute(kHeaderAttribute, EncodeHeader({.tablet = tablet, .part = 0}));
  create.SetAttribute(kStampAttribute, EncodeStamp(0));
  create.SetAttribute(kSizeAttribute, EncodeSize({}));
  if (const int result = cluster_.Write(object, create); result < 0 && result != -EEXIST) {
    return cluster_.ErrorOf(result, object, true);
  }
  const std::string name = TabletName(tablet);
  while (true) {
    WriteOp publish(cluster_.api());
    cluster_.format().Guard(publish);
    publish.GuardAbsent(name);
    publish.Set(name, EncodeMapEntry(entry));
    const int result = cluster_.Write(kStoreObject, publish);
    if (result == 0) return OkStatus();
    if (result != -ECANCELED) return cluster_.ErrorOf(result, kStoreObject, true);
    // Either the store needs another feature since, or another process has made the entry: the
    // next look tells.
    ASSIGN_OR_RETURN(const bool changed, RereadFormat(cluster_));
    if (!changed) return OkStatus();
  }
}

Result<PartListPtr> TabletMap::PartsOrCreate(kv::Tablet tablet) {
  ASSIGN_OR_RETURN(PartListPtr parts, Find(tablet));
  if (parts != nullptr) return parts;
  TRY(Create(tablet));
  ASSIGN_OR_RETURN(parts, Find(tablet));
  if (parts == nullptr) {
    return CorruptionError(fmt::format("The tablet {} is gone from the map as soon as it was made.",
                                       TabletName(tablet)));
  }
  return parts;
}

Status TabletMap::Heal(const PartPtr& part, const HeaderPtr& header) {
  const PartHeader& is = header->header;
  PartListPtr parts = Cached(part->tablet);
  const auto lost = [&part](std::string_view what) {
    return CorruptionError(
        fmt::format("The object {} has fewer keys than the map of the store says, which does not "
                    "know who has those {}.",
                    part->object, what));
  };
  if (parts != nullptr) {
    const auto mine = parts->find(is.routes.begin);
    if (mine == parts->end() || mine->second->number != part->number) return lost("before them");
    if (is.routes.end.empty() || parts->count(is.routes.end) > 0) return OkStatus();
  }
  if (is.state == PartHeader::State::kLeaving) {
    Add(part->tablet, is.routes.end, is.other);
    return OkStatus();
  }
  ASSIGN_OR_RETURN(parts, Load(part->tablet));
  // It forgot to whom it gave them once the map of the store had that.
  if (parts == nullptr || parts->count(is.routes.end) == 0) return lost("behind them");
  return OkStatus();
}

// ---- places -------------------------------------------------------------------------------------

Result<HeaderPtr> TabletMap::Learn(const PartPtr& part, std::string_view bytes) {
  // Call `notice_` also if the header was known already: the code that learned it first may not
  // have called it.
  ASSIGN_OR_RETURN(HeaderPtr header, part->Learn(bytes));
  using State = PartHeader::State;
  if (header->header.state == State::kCopying || header->header.state == State::kLeaving)
    notice_(part);
  return header;
}

Result<Place> TabletMap::Locate(kv::Tablet tablet, std::string_view route) {
  return LocateWhere(tablet, route, false);
}

Result<Place> TabletMap::LocateBelow(kv::Tablet tablet, std::string_view end) {
  return LocateWhere(tablet, end, true);
}

Result<Place> TabletMap::LocateWhere(kv::Tablet tablet, std::string_view route, bool below) {
  const int64_t started = cluster_.clock().TicksMicros();
  int64_t wait_micros = kOpeningWaitMicros;
  for (int round = 0; round < kMaxRounds;) {
    ASSIGN_OR_RETURN(const PartListPtr parts, Parts(tablet));
    if (parts == nullptr) return Place();
    auto after = !below          ? parts->upper_bound(route)
                 : route.empty() ? parts->end()
                                 : parts->lower_bound(route);
    const PartPtr part = std::prev(after)->second;
    HeaderPtr header = part->header();
    if (header == nullptr) {
      std::unique_ptr<ReadOp> read;
      const int result = cluster_.Read(
          part->object, [](ReadOp& op) { op.Attributes(); }, &read);
      if (result < 0) return cluster_.ErrorOf(result, part->object, false);
      ASSIGN_OR_RETURN(header, Learn(part, read->attribute(kHeaderAttribute)));
    }
    const PartHeader& is = header->header;
    if (is.fence == kv::kDroppedFence) return FencedError(is);
    const bool has = !below ? is.routes.Has(route)
                            : is.routes.end.empty() || (!route.empty() && route <= is.routes.end);
    if (is.state == PartHeader::State::kFilling) {
      if (cluster_.PastDeadline(started)) {
        return Error(
            ErrorCode::kUnavailable,
            fmt::format("The split of a part of {} does not come to its end.", TabletName(tablet)));
      }
      part->Forget(header);
      cluster_.Sleep(wait_micros);
      wait_micros = std::min(2 * wait_micros, kMaxOpeningWaitMicros);
    } else if (!has) {
      TRY(Heal(part, header));
      ++round;
    } else {
      return Place{part, header};
    }
  }
  return Error(ErrorCode::kUnavailable, "A tablet changes faster than its map can be read.");
}

Status TabletMap::Recheck(const PartPtr& part) {
  ASSIGN_OR_RETURN(const PartListPtr parts, Load(part->tablet));
  if (parts == nullptr)
    return CorruptionError(
        fmt::format("The tablet {} is gone from the map of the store.", TabletName(part->tablet)));
  part->Forget(part->header());
  ASSIGN_OR_RETURN(const HeaderPtr header, ReadHeader(cluster_, *part));
  TRY(Learn(part, header->bytes));
  return OkStatus();
}

}  // namespace stator::kv_rados

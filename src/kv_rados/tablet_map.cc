#include "kv_rados/tablet_map.h"

#include <fmt/format.h>

#include <cerrno>

namespace stator::kv_rados {

PartPtr TabletMap::FindCached(kv::Tablet tablet) {
  MutexLock lock(mutex_);
  auto found = parts_.find(tablet);
  return found == parts_.end() ? nullptr : found->second;
}

Result<bool> TabletMap::WasWritten(kv::Tablet tablet) {
  const std::string object = PartObject(tablet, 0);
  std::unique_ptr<ReadOp> read;
  const int result = cluster_.Read(object, [](ReadOp& op) { op.Attributes(); }, &read);
  if (result == -ENOENT) return false;
  if (result < 0) return cluster_.ErrorOf(result, object, false);
  ASSIGN_OR_RETURN(const uint64_t stamp, DecodeStamp(read->attribute(kStampAttribute)));
  return stamp > 0;
}

Result<PartPtr> TabletMap::Find(kv::Tablet tablet, std::string_view) {
  if (PartPtr cached = FindCached(tablet)) return cached;
  const std::string name = TabletName(tablet);
  for (bool again = false;; again = true) {
    ASSIGN_OR_RETURN(PartPtr part, Look(tablet, name));
    if (part != nullptr) return part;
    // Another process may have made it and written to it between the two reads, so the map is asked once more.
    ASSIGN_OR_RETURN(const bool written, WasWritten(tablet));
    if (!written) return PartPtr();
    if (again) {
      return CorruptionError(fmt::format(
          "The tablet {} was written to, and the object \"{}\" has no entry of it. Bring that object back from a backup.", name, kStoreObject));
    }
  }
}

Result<PartPtr> TabletMap::Look(kv::Tablet tablet, const std::string& name) {
  std::unique_ptr<ReadOp> read;
  size_t keys = 0;
  const int result = cluster_.Read(kStoreObject, [&](ReadOp& op) {
    op.GuardAttribute(kFormatAttribute, FormatText());
    keys = op.Keys({&name, 1});
  }, &read);
  if (result == -ECANCELED) {
    return Error(ErrorCode::kUnavailable, "The store was upgraded by a newer Stator while this one ran. Upgrade this one.");
  } else if (result < 0) {
    return cluster_.ErrorOf(result, kStoreObject, false);
  }
  std::optional<std::string> bytes;
  read->ForEach(keys, [&bytes](std::string_view, std::string_view value) {
    bytes = value;
    return true;
  });
  if (!bytes) return PartPtr();
  ASSIGN_OR_RETURN(const MapEntry entry, DecodeMapEntry(*bytes));
  if (entry.parts.size() > 1) {
    return Error(ErrorCode::kUnavailable,
                 fmt::format("The tablet {} is split into {} parts, which this Stator cannot read. Start the newer one that split it.",
                             name, entry.parts.size()));
  }
  auto part = std::make_shared<Part>(tablet, entry.parts.begin()->second);
  MutexLock lock(mutex_);
  return parts_.try_emplace(tablet, std::move(part)).first->second;
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
  WriteOp publish(cluster_.api());
  publish.GuardAttribute(kFormatAttribute, FormatText());
  publish.GuardAbsent(name);
  publish.Set(name, EncodeMapEntry(entry));
  // Refused by its guards, it lost to another process: the next look tells.
  if (const int result = cluster_.Write(kStoreObject, publish); result < 0 && result != -ECANCELED) {
    return cluster_.ErrorOf(result, kStoreObject, true);
  }
  return OkStatus();
}

Result<PartPtr> TabletMap::FindOrCreate(kv::Tablet tablet, std::string_view key) {
  ASSIGN_OR_RETURN(PartPtr part, Find(tablet, key));
  if (part != nullptr) return part;
  TRY(Create(tablet));
  ASSIGN_OR_RETURN(part, Find(tablet, key));
  if (part == nullptr) return CorruptionError(fmt::format("The tablet {} is gone from the map as soon as it was made.", TabletName(tablet)));
  return part;
}

Status TabletMap::Recheck(const PartPtr& part) {
  const kv::Tablet tablet = part->tablet;
  {
    MutexLock lock(mutex_);
    auto found = parts_.find(tablet);
    if (found != parts_.end() && found->second == part) parts_.erase(found);
  }
  ASSIGN_OR_RETURN(const PartPtr now, Find(tablet, {}));
  if (now == nullptr) return CorruptionError(fmt::format("The tablet {} is gone from the map of the store.", TabletName(tablet)));
  TRY(ReadHeader(cluster_, *now));
  return OkStatus();
}

}  // namespace stator::kv_rados

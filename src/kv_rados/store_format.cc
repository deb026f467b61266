#include "kv_rados/store_format.h"

#include <fmt/format.h>

#include <cerrno>
#include <memory>

#include "kv_rados/cluster.h"

namespace stator::kv_rados {

Result<bool> RereadFormat(Cluster& cluster) {
  std::unique_ptr<ReadOp> read;
  const int result = cluster.Read(
      kStoreObject, [](ReadOp& op) { op.Attributes(); }, &read);
  if (result < 0) return cluster.ErrorOf(result, kStoreObject, false);
  ASSIGN_OR_RETURN(kv::Features features,
                   ReadFormat(read->attribute(kFormatAttribute),
                              read->attribute(kFeaturesAttribute), kv::KnownFeatures()));
  if (features == cluster.format().features()) return false;
  cluster.format().Set(std::move(features));
  return true;
}

Status AddFeature(Cluster& cluster, std::string_view name) {
  if (!kv::CheckFeatures("", {std::string(name)}, kv::KnownFeatures()).ok())
    return InternalError(fmt::format("The feature {} is not in kv/features.cc.", name));
  const int64_t started = cluster.clock().TicksMicros();
  while (true) {
    kv::Features features = cluster.format().features();
    if (!features.emplace(name).second) return OkStatus();
    WriteOp op(cluster.api());
    cluster.format().Guard(op);
    op.SetAttribute(kFormatAttribute, FormatText(features));
    op.SetAttribute(kFeaturesAttribute, kv::JoinFeatures(features));
    const int result = cluster.Write(kStoreObject, op);
    // Another process has changed the format first, or the answer was lost. Read the format again
    // to find out.
    if (result < 0 && result != -ECANCELED && result != -ETIMEDOUT)
      return cluster.ErrorOf(result, kStoreObject, true);
    if (result == 0) {
      cluster.format().Set(std::move(features));
      return OkStatus();
    }
    if (cluster.PastDeadline(started)) {
      return Error(ErrorCode::kUnavailable,
                   fmt::format("The store in this pool could not be marked as one that needs the "
                               "feature {}.",
                               name));
    }
    TRY(RereadFormat(cluster));
  }
}

}  // namespace stator::kv_rados

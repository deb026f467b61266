#include "kv_rados/fences.h"

#include <cerrno>

namespace stator::kv_rados {
namespace {

Result<HeaderPtr> Raise(Cluster& cluster, const Part& part, uint64_t fence) {
  while (true) {
    ASSIGN_OR_RETURN(HeaderPtr header, ReadHeader(cluster, part));
    if (header->header.fence >= fence) return header;
    PartHeader raised = header->header;
    raised.fence = fence;
    ASSIGN_OR_RETURN(header, ReplaceHeader(cluster, part, header, std::move(raised)));
    if (header != nullptr) return header;  // else somebody was faster, perhaps this call itself
  }
}

// All keys of one order (`kind`), and what belongs to them in the other. A late operation does no harm: nothing comes back.
Status RemoveKeys(Cluster& cluster, const Part& part, const HeaderPtr& header, char kind) {
  constexpr size_t kKeysAtOnce = 1000;
  for (bool more = true; more;) {
    std::unique_ptr<ReadOp> read;
    int result = cluster.Read(part.object, [kind](ReadOp& op) { op.Range(std::string(1, kind), std::string(1, kind), kKeysAtOnce); },
                              &read);
    if (result < 0) return cluster.ErrorOf(result, part.object, false);
    more = read->more(0);
    std::vector<std::string> cells;
    read->ForEach(0, [&cells](std::string_view cell, std::string_view) {
      cells.emplace_back(cell);
      const Result<std::string> key = KeyOfCell(cell);
      if (key.ok()) cells.push_back(cell[0] == kKeyCell ? ReverseCell(*key) : KeyCell(*key));
      return true;
    });
    WriteOp op(cluster.api());
    op.GuardAttribute(kHeaderAttribute, header->bytes);
    if (!cells.empty()) op.Remove(cells);
    op.SetAttribute(kSizeAttribute, EncodeSize({}));
    result = cluster.Write(part.object, op);
    if (result < 0) return cluster.ErrorOf(result, part.object, true);
  }
  return OkStatus();
}

}  // namespace

Status RaiseFence(Cluster& cluster, TabletMap& map, kv::Tablet tablet, uint64_t fence) {
  ASSIGN_OR_RETURN(const PartPtr part, map.FindOrCreate(tablet, {}));
  ASSIGN_OR_RETURN(const HeaderPtr header, Raise(cluster, *part, fence));
  if (fence != kv::kDroppedFence) return OkStatus();
  // The reverse order has no values to read; the other one is empty by then.
  for (const char kind : {kReverseCell, kKeyCell}) TRY(RemoveKeys(cluster, *part, header, kind));
  return OkStatus();
}

}  // namespace stator::kv_rados

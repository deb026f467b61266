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

// All keys of one order (`kind`), and what belongs to them in the other. A late operation does no
// harm: nothing comes back.
Status RemoveKeys(Cluster& cluster, const Part& part, char kind) {
  constexpr size_t kKeysAtOnce = 1000;
  for (bool more = true; more;) {
    ASSIGN_OR_RETURN(const HeaderPtr header, ReadHeader(cluster, part));
    std::unique_ptr<ReadOp> read;
    int result = cluster.Read(
        part.object,
        [kind](ReadOp& op) { op.Range(std::string(1, kind), std::string(1, kind), kKeysAtOnce); },
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
    op.RemoveRange(std::string(1, kMarkCell), std::string(1, kRangeMarkCell + 1));
    op.SetAttribute(kSizeAttribute, EncodeSize({}));
    result = cluster.Write(part.object, op);
    if (result == -ECANCELED) {
      more = true;
    } else if (result < 0) {
      return cluster.ErrorOf(result, part.object, true);
    }
  }
  return OkStatus();
}

// The reverse order has no values to read; the other one is empty by then.
Status RemoveAllKeys(Cluster& cluster, const Part& part) {
  for (const char kind : {kReverseCell, kKeyCell}) TRY(RemoveKeys(cluster, part, kind));
  return OkStatus();
}

}  // namespace

// One part after the other, as their headers say: a part that is split meanwhile hands its fence
// on, and to none that was passed.
Status RaiseFence(Cluster& cluster, TabletMap& map, kv::Tablet tablet, uint64_t fence) {
  TRY(map.PartsOrCreate(tablet));
  std::string route;
  while (true) {
    const PartListPtr parts = map.Cached(tablet);
    const PartPtr part = std::prev(parts->upper_bound(route))->second;
    ASSIGN_OR_RETURN(const HeaderPtr raised, Raise(cluster, *part, fence));
    ASSIGN_OR_RETURN(const HeaderPtr header, map.Learn(part, raised->bytes));
    if (!header->header.routes.Has(route)) {
      TRY(map.Heal(part, header));
      continue;
    }
    if (fence == kv::kDroppedFence) {
      TRY(RemoveAllKeys(cluster, *part));
      if (header->header.state == PartHeader::State::kCopying) {
        // What was copied into a part that will never be opened.
        const Part child(tablet, header->header.other);
        std::unique_ptr<ReadOp> read;
        if (cluster.Read(
                child.object, [](ReadOp& op) { op.Attributes(); }, &read) != -ENOENT) {
          TRY(Raise(cluster, child, fence));
          TRY(RemoveAllKeys(cluster, child));
        }
      }
    }
    route = header->header.routes.end;
    if (route.empty()) return OkStatus();
  }
}

}  // namespace stator::kv_rados

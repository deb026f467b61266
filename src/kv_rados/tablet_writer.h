// The writes of one tablet: which part each batch goes to. Internal to the room; everything runs on
// the writer's strand.
//
// Batches of one part stay in their order, also while the part is split: those that a part's writer
// finds itself without the routes of come back here together and are dealt out anew, before any
// that came later.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "kv_rados/part_writer.h"

namespace stator::kv_rados {

class TabletWriter {
 public:
  TabletWriter(kv::Tablet tablet, WriterContext& context) : tablet_(tablet), context_(context) {}

  void Enqueue(QueuedBatch batch);
  // Passes the hint to the part's writer (PartWriter::NoteUnused).
  void NoteUnused(std::string_view key);
  // Sets out with what is queued.
  void Start();

 private:
  void Open();
  void OnOpened(Result<PartListPtr> parts);
  // Deals out what waits, once everything is known again.
  void GoOn();
  void Deal(QueuedBatch queued);
  void DealAmong(QueuedBatch queued, const std::vector<PartWriter*>& parts);
  void Send(QueuedBatch queued, PartWriter& part);
  PartWriter& Add(PartPtr part, RouteRange routes);
  PartWriter& PartOf(std::string_view route) {
    return *std::prev(parts_.upper_bound(route))->second;
  }
  // In the order of their routes.
  std::vector<PartWriter*> PartsOf(const kv::DeleteRange& range, const RouteRange& routes);
  void OnMoved(PartWriter& part, HeaderPtr header, std::deque<QueuedBatch> batches);
  void OnHealed(PartWriter& part, Status status, std::deque<QueuedBatch> batches);
  void Fail(const Error& error, std::deque<QueuedBatch> batches);

  const kv::Tablet tablet_;
  WriterContext& context_;
  std::map<std::string, std::unique_ptr<PartWriter>, std::less<>>
      parts_;                         // by first route; empty until they are known
  std::vector<PartWriter*> touched_;  // have batches since the last Start
  std::deque<QueuedBatch> waiting_;   // while something is looked up
  int lookups_ = 0;
};

}  // namespace stator::kv_rados

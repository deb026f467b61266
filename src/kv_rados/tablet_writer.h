// The writes of one tablet: which part each batch goes to. Internal to the room; everything runs on the writer's thread.
#pragma once

#include <deque>
#include <memory>

#include "kv_rados/part_writer.h"

namespace stator::kv_rados {

class TabletWriter {
 public:
  TabletWriter(kv::Tablet tablet, WriterContext& context) : tablet_(tablet), context_(context) {}

  void Enqueue(QueuedBatch batch);
  // Sets out with what is queued.
  void Start();

 private:
  void Open();
  void OnOpened(Result<PartPtr> part);
  void Fail(const Error& error);

  const kv::Tablet tablet_;
  WriterContext& context_;
  std::deque<QueuedBatch> waiting_;  // until it is known where the tablet is
  bool opening_ = false;
  std::unique_ptr<PartWriter> part_;
};

}  // namespace stator::kv_rados

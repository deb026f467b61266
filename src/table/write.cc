// One write: latches, old images, body, batch.
//
// The latches of the targets are taken in sorted order and let go as soon as the batch is queued, so that the next writer of
// a key joins the same group commit instead of waiting for the disk. What the next writer saw (a pending image) is named in its
// own batch: if the first is refused, so is the second.
#include <algorithm>
#include <numeric>

#include "table/item_value.h"
#include "table/key_encoding.h"
#include "table/store.h"

namespace stator::table {
namespace {

// Distinct tables may hold equal keys: the tablet is part of the latch's name.
std::string LatchKey(const WriteTarget& target) {
  const uint32_t id = target.table->descriptor.tablet_id;
  std::string key;
  key.reserve(5 + target.key.size());
  key.push_back('i');
  for (int shift = 24; shift >= 0; shift -= 8) key.push_back(static_cast<char>(id >> shift));
  key.append(target.key);
  return key;
}

class WriteOperation {
 public:
  WriteOperation(Store& store, std::vector<WriteTarget> targets, WriteBody body, WriteDone done,
                 std::shared_ptr<TokenUse> token)
      : store_(store),
        targets_(std::move(targets)),
        body_(std::move(body)),
        done_(std::move(done)),
        token_(std::move(token)) {}

  // Owns itself from here on.
  void Start() {
    for (; entered_ < targets_.size(); ++entered_) {
      if (!targets_[entered_].table->gate->Enter()) {
        Finish(Error(ErrorCode::kResourceNotFound, "Requested resource not found"));
        return;
      }
    }
    latch_keys_.reserve(targets_.size());
    for (const WriteTarget& target : targets_) latch_keys_.push_back(LatchKey(target));
    order_.resize(targets_.size());
    std::iota(order_.begin(), order_.end(), size_t{0});
    if (order_.size() > 1) {
      std::sort(order_.begin(), order_.end(), [this](size_t a, size_t b) { return latch_keys_[a] < latch_keys_[b]; });
    }
    if (token_ == nullptr) {
      TakeLatches();
    } else {
      TakeTokenLatch();
    }
  }

 private:
  void TakeTokenLatch() {
    token_latch_ = "t" + token_->token;
    UniqueFunction<void()> granted = [this] {
      token_latched_ = true;
      TakeLatches();
    };
    if (!store_.latches().Acquire(token_latch_, &granted)) return;
    token_latched_ = true;
    TakeLatches();
  }

  void TakeLatches() {
    while (latched_ < order_.size()) {
      UniqueFunction<void()> granted = [this] {
        ++latched_;
        TakeLatches();
      };
      if (!store_.latches().Acquire(latch_keys_[order_[latched_]], &granted)) return;
      ++latched_;
    }
    images_.resize(targets_.size());
    for (size_t i = 0; i < targets_.size(); ++i) images_[i].pending = store_.latches().Pending(latch_keys_[i]);
    ReadAndRun(kv::Tier::kMemory);
  }

  void ReadAndRun(kv::Tier tier) {
    Status read = Read(tier);
    if (read.ok()) {
      Run();
    } else if (read.error().code() == ErrorCode::kWouldBlock) {
      UniqueFunction<void()> cold = [this] { ReadAndRun(kv::Tier::kAny); };
      // A full pool is no reason to fail a write that already holds latches: it reads here instead.
      if (!store_.workers().TryPost(cold)) cold();
    } else {
      Abandon(std::move(read).error());
    }
  }

  // Goes on where it was when it would have blocked.
  Status Read(kv::Tier tier) {
    if (token_ != nullptr && !token_read_) {
      TRY(ReadToken(tier));
      token_read_ = true;
    }
    for (; read_ < targets_.size(); ++read_) {
      Image& image = images_[read_];
      if (image.pending != nullptr) continue;
      ASSIGN_OR_RETURN(image.found, store_.Get(*targets_[read_].table, targets_[read_].key, tier, &image.bytes));
    }
    return OkStatus();
  }

  Status ReadToken(kv::Tier tier) {
    earlier_token_ = store_.latches().Pending(token_latch_);
    std::optional<std::string> entry;
    if (earlier_token_ != nullptr) {
      entry = earlier_token_->item;
    } else {
      ASSIGN_OR_RETURN(entry, store_.tokens().Find(token_->token, tier));
    }
    if (entry) token_->earlier = store_.tokens().RecordOf(*entry);
    return OkStatus();
  }

  void Run() {
    std::vector<model::ItemView> old_items;
    old_items.reserve(images_.size());
    kv::Batch batch;
    for (const Image& image : images_) {
      old_items.push_back(image.view());
      if (image.pending != nullptr) batch.void_if.push_back(image.pending->failed);
    }
    if (earlier_token_ != nullptr) batch.void_if.push_back(earlier_token_->failed);
    Result<std::vector<Change>> changes = body_(old_items);
    if (!changes.ok()) {
      error_ = std::move(changes).error();
    } else {
      FillBatch(*changes, &batch);
      if (token_ != nullptr && token_->record) RecordToken(&batch);
    }
    const bool saw_pending = !batch.void_if.empty();
    if (batch.puts.empty() && batch.deletes.empty() && !saw_pending) {
      ReleaseLatches();
      Finish(TakeOutcome());
      return;
    }
    // Without changes this is a barrier: an answer derived from a pending image waits until that image is durable.
    store_.engine().Apply(std::move(batch), [this](Result<uint64_t> applied) { Applied(std::move(applied)); });
    ReleaseLatches();
    Part();
  }

  void FillBatch(std::vector<Change>& changes, kv::Batch* batch) {
    for (size_t i = 0; i < changes.size(); ++i) {
      Change& change = changes[i];
      if (change.kind == Change::kNone) continue;
      const WriteTarget& target = targets_[i];
      const model::ItemView old_item = images_[i].view();
      auto pending = std::make_shared<PendingImage>();
      pending->failed = failed_;
      int64_t items = old_item.exists() ? -1 : 0;
      int64_t bytes = -static_cast<int64_t>(old_item.size_bytes());
      const kv::Tablet tablet = target.table->descriptor.tablet();
      if (change.kind == Change::kPut) {
        batch->puts.push_back({tablet, target.key, EncodeItemValue(change.item)});
        items += 1;
        bytes += static_cast<int64_t>(model::ItemView(change.item).size_bytes());
        pending->item = std::move(change.item);
      } else {
        if (!old_item.exists()) continue;
        batch->deletes.push_back({tablet, target.key});
      }
      AddToCounter(batch, tablet, "count", items);
      AddToCounter(batch, tablet, "bytes", bytes);
      store_.latches().SetPending(latch_keys_[i], pending);
      written_.emplace_back(i, std::move(pending));
    }
  }

  void RecordToken(kv::Batch* batch) {
    auto pending = std::make_shared<PendingImage>();
    pending->item = store_.tokens().Record(token_->token, *token_->record, batch);
    pending->failed = failed_;
    store_.latches().SetPending(token_latch_, pending);
    written_token_ = std::move(pending);
  }

  // A key may stand in a batch once.
  static void AddToCounter(kv::Batch* batch, kv::Tablet tablet, std::string_view name, int64_t delta) {
    if (delta == 0) return;
    std::string key = EncodeCounterKey(name);
    for (kv::Add& add : batch->adds) {
      if (add.tablet == tablet && add.key == key) {
        add.delta += delta;
        return;
      }
    }
    batch->adds.push_back({tablet, std::move(key), delta});
  }

  void Applied(Result<uint64_t> applied) {
    const bool ok = applied.ok();
    if (!ok) {
      failed_->store(true);
      error_ = std::move(applied).error();
    }
    for (const auto& [i, image] : written_) store_.latches().Settle(latch_keys_[i], image.get(), ok);
    if (written_token_ != nullptr) store_.latches().Settle(token_latch_, written_token_.get(), ok);
    Part();
  }

  // The engine's callback and the thread that queued the batch both touch this object; the later one finishes it.
  void Part() {
    if (parts_.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
    Finish(TakeOutcome());
  }

  void Abandon(Error error) {
    ReleaseLatches();
    Finish(std::move(error));
  }

  void ReleaseLatches() {
    for (size_t i = 0; i < latched_; ++i) store_.latches().Release(latch_keys_[order_[i]]);
    if (token_latched_) store_.latches().Release(token_latch_);
  }

  Status TakeOutcome() {
    if (error_) return std::move(*error_);
    return OkStatus();
  }

  void Finish(Status status) {
    for (size_t i = 0; i < entered_; ++i) targets_[i].table->gate->Leave();
    WriteDone done = std::move(done_);
    delete this;
    done(std::move(status));
  }

  struct Image {
    std::shared_ptr<const PendingImage> pending;
    std::string bytes;
    bool found = false;

    model::ItemView view() const {
      if (pending != nullptr) return pending->item ? model::ItemView(*pending->item) : model::ItemView();
      return found ? model::ItemView(bytes) : model::ItemView();
    }
  };

  Store& store_;
  std::vector<WriteTarget> targets_;
  WriteBody body_;
  WriteDone done_;
  const std::shared_ptr<TokenUse> token_;  // null without
  std::string token_latch_;
  bool token_latched_ = false;
  bool token_read_ = false;
  std::shared_ptr<const PendingImage> earlier_token_;  // pending entries: the one that was seen,
  std::shared_ptr<const PendingImage> written_token_;  // and ours
  std::vector<std::string> latch_keys_;  // of targets_[i]
  std::vector<size_t> order_;            // targets by latch key
  size_t entered_ = 0;                   // gates passed
  size_t latched_ = 0;                   // latches held, in order_
  size_t read_ = 0;                      // images read
  std::vector<Image> images_;
  std::vector<std::pair<size_t, std::shared_ptr<const PendingImage>>> written_;  // targets and our pending images of them
  std::shared_ptr<std::atomic<bool>> failed_ = std::make_shared<std::atomic<bool>>(false);
  std::optional<Error> error_;
  std::atomic<int> parts_{2};
};

}  // namespace

void Store::Write(std::vector<WriteTarget> targets, WriteBody body, WriteDone done, std::shared_ptr<TokenUse> token) {
  (new WriteOperation(*this, std::move(targets), std::move(body), std::move(done), std::move(token)))->Start();
}

}  // namespace stator::table

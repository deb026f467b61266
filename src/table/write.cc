// One write: latches, old images, body, batch.
//
// The latches of the targets are taken in sorted order, then the gates of their tables are passed,
// which is left again when the batch is durable. The latches are let go as soon as the batch is
// queued, so that the next writer of a key joins the same group commit instead of waiting for the
// disk.
// What the next writer saw (a pending image) is named in its own batch: if the first is refused, so
// is the second.
//
// Where several processes write, latches order the writes of one of them. What the body saw is
// guarded: by the stamps of what was read, and by the batches that will leave what is pending. What
// was read may be what this process remembers (Tier::kGuarded), since the guards find out; only an
// answer that changes nothing is looked at again. A refused write, and what was computed from it,
// starts over with what is there now.
#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>
#include <utility>

#include "base/out_of_memory.h"
#include "kv/remembered.h"
#include "table/item_value.h"
#include "table/store.h"
#include "table/write_batch.h"
#include "table/write_with.h"

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

// For how long a write starts over because other processes are faster, or waits for others of this
// one.
constexpr int64_t kPatienceMicros = 10'000'000;
// For how long a fence is above that of the catalog before nobody waits for its process any more.
constexpr int64_t kFencePatienceMicros = 2'000'000;
constexpr int kRunsAtOnce = 3;
constexpr int kMostDoublings = 6;

class WriteOperation {
 public:
  WriteOperation(Store& store, std::vector<WriteTarget> targets, WriteBody body, WriteDone done,
                 std::shared_ptr<TokenUse> token, WriteDetour detour, kv::FatePtr permit,
                 BatchExtra extra = nullptr)
      : store_(store),
        shared_(store.shared()),
        targets_(std::move(targets)),
        body_(std::move(body)),
        done_(std::move(done)),
        extra_(std::move(extra)),
        detour_(std::move(detour)),
        permit_(std::move(permit)),
        token_(std::move(token)) {}

  // Owns itself from here on.
  void Start() {
    const MustNotFail region("the latches of a write are taken");
    if (shared_) started_ = store_.clock().TicksMicros();
    Prepare();
  }

 private:
  void Prepare() {
    places_.reserve(targets_.size());
    for (const WriteTarget& target : targets_) places_.push_back({LatchKey(target)});
    order_.resize(targets_.size());
    std::iota(order_.begin(), order_.end(), size_t{0});
    if (order_.size() > 1) {
      std::sort(order_.begin(), order_.end(),
                [this](size_t a, size_t b) { return places_[a].latch < places_[b].latch; });
    }
    if (token_ == nullptr) {
      TakeLatches();
    } else {
      TakeTokenLatch();
    }
  }

  // The first target with the table of target `i`; null if that is target `i` itself.
  const WriteTarget* EarlierOfTable(size_t i) const {
    const uint32_t id = targets_[i].table->descriptor.tablet_id;
    for (size_t k = 0; k < i; ++k) {
      if (targets_[k].table->descriptor.tablet_id == id) return &targets_[k];
    }
    return nullptr;
  }

  // The version that replaced the target's when indexes came or went. False if the table is gone.
  bool TakeCurrentVersion(WriteTarget* target) {
    TablePtr current = store_.Find(target->table->descriptor.name);
    if (current == nullptr || current->gate == target->table->gate ||
        current->descriptor.tablet_id != target->table->descriptor.tablet_id) {
      return false;
    }
    target->table = std::move(current);
    return true;
  }

  void TakeTokenLatch() {
    token_latch_ = "t" + token_->token;
    UniqueFunction<void()> granted = [this] {
      token_latched_ = true;
      if (WaitedForLong()) return Abandon(Behind());
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
        if (WaitedForLong()) return Abandon(Behind());
        TakeLatches();
      };
      if (!store_.latches().Acquire(places_[order_[latched_]].latch, &granted)) return;
      ++latched_;
    }
    PassGates();
  }

  // Holds all latches meanwhile, so that who holds a gate waits for writes that run and for none
  // that waits for a latch. This cannot deadlock: whoever holds a gate needs no latch of an item
  // and holds the catalog's, so that no two gates are held at a time, and a write that waits for
  // the gate of one table is waited for at no other. Where others write there are fences instead.
  void PassGates() {
    while (!shared_ && entered_ < targets_.size()) {
      if (const WriteTarget* first = EarlierOfTable(entered_); first != nullptr) {
        // Inside the gate of one version it must not wait for that of the next, which opens when
        // the first is empty.
        targets_[entered_++].table = first->table;
        continue;
      }
      UniqueFunction<void()> later = [this] {
        const MustNotFail region("a write passes the gates of its tables");
        PassGates();
      };
      switch (targets_[entered_].table->gate->EnterOrWait(&later, &places_[entered_].turn)) {
        case Gate::Entry::kEntered: ++entered_; break;
        case Gate::Entry::kLater: return;
        case Gate::Entry::kClosed:
          if (TakeCurrentVersion(&targets_[entered_])) break;
          return Abandon(Error(ErrorCode::kResourceNotFound, "Requested resource not found"));
      }
    }
    for (const WriteTarget& target : targets_) {
      for (const IndexDescriptor& index : target.table->descriptor.indexes) {
        builds_ |= index.state == IndexDescriptor::State::kCreating;
      }
    }
    // Not before the gates: pending images may be settled after a wait there.
    images_.resize(targets_.size());
    for (size_t i = 0; i < targets_.size(); ++i)
      images_[i].pending = store_.latches().Pending(places_[i].latch);
    if (shared_) {
      const bool known = token_ == nullptr &&
                         std::all_of(images_.begin(), images_.end(), [](const OldImage& image) {
                           return image.pending != nullptr;
                         });
      if (builds_ || (rereads_ && !known)) {
        ReadAnew();
      } else {
        ReadAndRun(kv::Tier::kGuarded);
      }
      return;
    }
    if (builds_) {
      // Entries of an index that is being built are looked up too, from wherever they are.
      UniqueFunction<void()> cold = [this] { ReadAndRun(kv::Tier::kAny); };
      if (!store_.workers().TryPost(cold)) cold();
      return;
    }
    ReadAndRun(kv::Tier::kMemory);
  }

  void ReadAndRun(kv::Tier tier) {
    const MustNotFail region("a write reads its items");
    Status read;
    const bool had_memory = RunOrOutOfMemory("a read before a write", [&] {
      const MayFail allowed;
      read = shared_ ? ReadGuarded(tier) : Read(tier);
    });
    if (!had_memory) read = OutOfMemory();
    if (read.ok()) {
      Run();
    } else if (tier == kv::Tier::kGuarded && kv::IsNotRemembered(read.error())) {
      ReadAnew();
    } else if (shared_) {
      GoOnWithout(std::move(read).error());
    } else if (read.error().code() == ErrorCode::kWouldBlock) {
      UniqueFunction<void()> cold = [this] { ReadAndRun(kv::Tier::kAny); };
      // A full pool is no reason to fail a write that already holds latches: it reads here instead.
      if (!store_.workers().TryPost(cold)) cold();
    } else {
      Abandon(std::move(read).error());
    }
  }

  // For stores that others write to: reads the present image, from wherever it is.
  void ReadAnew() {
    if (!CanReadLater()) return ReadOnWorker();
    if (GivesUp()) return;
    Status read = ReadLater();
    if (!read.ok()) GoOnWithout(std::move(read).error());
  }

  // Whether no thread has to wait for what is to be read, and it is not asked for in one operation:
  // several items of one tablet are.
  bool CanReadLater() const {
    if (builds_ || (token_ != nullptr && rereads_)) return false;
    size_t wanted = 0;
    bool several_tablets = false;
    for (size_t i = 0; i < targets_.size(); ++i) {
      if (targets_[i].table->descriptor.HasLocalIndexes()) return false;
      if (images_[i].pending != nullptr) continue;
      ++wanted;
      several_tablets |= EarlierOfTable(i) == nullptr && i > 0;
    }
    return wanted == 1 || several_tablets;
  }

  // All at once.
  Status ReadLater() {
    fresh_ = true;
    one_state_ = targets_.size() == 1;
    later_.clear();
    for (size_t i = 0; i < targets_.size(); ++i) {
      if (images_[i].pending != nullptr) continue;
      if (!rereads_) {
        if (images_[i].was_read) {
          fresh_ = false;
          continue;
        }
        std::string value;
        const Result<bool> found = store_.engine().Get(targets_[i].table->descriptor.tablet(),
                                                       targets_[i].key, kv::Tier::kGuarded, &value);
        if (found.ok()) {
          TRY(TakeValue(i, *found ? &value : nullptr));
          fresh_ = false;
          continue;
        }
      }
      later_.emplace_back(i, std::nullopt);
    }
    later_left_.store(later_.size() + 1);
    for (Later& later : later_) {
      const WriteTarget& target = targets_[later.first];
      store_.engine().GetLater(target.table->descriptor.tablet(), target.key,
                               [this, &later](Result<std::optional<std::string>> value) {
                                 later.second.emplace(std::move(value));
                                 CameLater();
                               });
    }
    CameLater();
    return OkStatus();
  }

  void CameLater() {
    if (later_left_.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
    // The engine's thread has others to tell: what follows may take long, and grants latches to all
    // who wait for them.
    store_.tasks().Post([this] { TakeAndRun(); });
  }

  void TakeAndRun() {
    if (GivesUp()) return;
    Status taken;
    for (Later& later : later_) {
      Result<std::optional<std::string>>& value = *later.second;
      taken = value.ok() ? TakeValue(later.first, *value ? &**value : nullptr)
                         : Status(std::move(value).error());
      if (!taken.ok()) break;
    }
    if (taken.ok() && token_ != nullptr) {
      taken = ReadGuardedToken(true);
      fresh_ = false;
    }
    if (!taken.ok()) return GoOnWithout(std::move(taken).error());
    Run();
  }

  // Waits for a worker, however many others do.
  void ReadOnWorker() {
    store_.tasks().Post([this] {
      if (!GivesUp()) ReadAndRun(kv::Tier::kAny);
    });
  }

  // A read of several processes' data has failed.
  void GoOnWithout(Error error) {
    switch (error.code()) {
      case ErrorCode::kFenced: fenced_ = true; break;
      case ErrorCode::kTransactionConflict: break;
      default: return Abandon(std::move(error));
    }
    ReleaseLatches();
    StartOver();
  }

  // As Read, where others write.
  Status ReadGuarded(kv::Tier tier) {
    fresh_ = tier == kv::Tier::kAny;
    TRY(ReadItems(tier));
    if (token_ != nullptr) {
      // After the items: where they have what was done under the token, the token is there. (A
      // condition that fails because of that is no answer to who tries again.) It is hardly ever
      // used twice.
      TRY(ReadGuardedToken(!fresh_ || !rereads_));
      fresh_ &= rereads_;
    }
    for (size_t i = 0; i < targets_.size(); ++i) {
      if (!targets_[i].table->descriptor.HasLocalIndexes()) continue;
      // A limit of 10 GB need not be exact.
      Result<int64_t> bytes =
          store_.CollectionBytes(*targets_[i].table, targets_[i].key, kv::Tier::kGuarded);
      if (!bytes.ok() && kv::IsNotRemembered(bytes.error()) && tier == kv::Tier::kAny)
        bytes = store_.CollectionBytes(*targets_[i].table, targets_[i].key, kv::Tier::kAny);
      ASSIGN_OR_RETURN(images_[i].collection_bytes, std::move(bytes));
    }
    return OkStatus();
  }

  Status ReadItems(kv::Tier tier) {
    std::map<kv::Tablet, std::vector<size_t>>
        wanted;  // a tablet's items are mostly read in one operation
    for (size_t i = 0; i < targets_.size(); ++i) {
      if (images_[i].pending == nullptr)
        wanted[targets_[i].table->descriptor.tablet()].push_back(i);
    }
    for (const auto& [tablet, items] : wanted) {
      if (tier == kv::Tier::kGuarded || items.size() == 1) {
        for (const size_t i : items) {
          std::string value;
          ASSIGN_OR_RETURN(const bool found,
                           store_.engine().Get(tablet, targets_[i].key, tier, &value));
          TRY(TakeValue(i, found ? &value : nullptr));
        }
        continue;
      }
      std::vector<kv::Point> points;
      for (const size_t i : items) points.push_back({tablet, targets_[i].key});
      std::vector<std::optional<std::string>> values;
      TRY(store_.engine().MultiGet(points, tier, &values));
      for (size_t k = 0; k < items.size(); ++k) {
        TRY(TakeValue(items[k], values[k] ? &*values[k] : nullptr));
      }
    }
    one_state_ = wanted.size() <= 1;
    return OkStatus();
  }

  // `value`: null if there is no item.
  Status TakeValue(size_t target, const std::string* value) {
    OldImage& image = images_[target];
    image.was_read = true;
    image.found = value != nullptr;
    image.stamp = 0;
    if (value == nullptr) return OkStatus();
    image.stamp = kv::StampOf(*value);
    ASSIGN_OR_RETURN(const std::string_view item, DecodeItemValue(*value));
    image.bytes = item;
    return OkStatus();
  }

  Status ReadGuardedToken(bool guess) {
    token_guards_.clear();
    token_->earlier.reset();
    earlier_token_ = store_.latches().Pending(token_latch_);
    std::optional<std::string> entry;
    if (earlier_token_ != nullptr) {
      entry = earlier_token_->item;
      // It has expired before it was durable: nothing is known of what will be there.
      if (!store_.tokens().RecordOf(*entry))
        return Error(ErrorCode::kTransactionConflict, "The token is in use.");
    } else {
      ASSIGN_OR_RETURN(entry, store_.tokens().FindGuarded(token_->token, guess, &token_guards_));
    }
    if (entry) token_->earlier = store_.tokens().RecordOf(*entry);
    return OkStatus();
  }

  // Goes on where it was when it would have blocked.
  Status Read(kv::Tier tier) {
    if (token_ != nullptr && !token_read_) {
      TRY(ReadToken(tier));
      token_read_ = true;
    }
    for (; read_ < targets_.size(); ++read_) {
      OldImage& image = images_[read_];
      const WriteTarget& target = targets_[read_];
      if (target.table->descriptor.HasLocalIndexes()) {
        ASSIGN_OR_RETURN(image.collection_bytes,
                         store_.CollectionBytes(*target.table, target.key, tier));
      }
      if (image.pending != nullptr) continue;
      ASSIGN_OR_RETURN(image.found, store_.Get(*target.table, target.key, tier, &image.bytes));
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

  std::vector<model::ItemView> OldItems() const {
    std::vector<model::ItemView> old_items;
    old_items.reserve(images_.size());
    for (const OldImage& image : images_) old_items.push_back(image.view());
    return old_items;
  }

  void Run() {
    if (detour_) {
      // A copy: once `run` is handed on, this object may be gone.
      const WriteDetour detour = detour_;
      if (detour(OldItems(), [this] { RunBody(); })) return;
    }
    RunBody();
  }

  void RunBody() {
    const MustNotFail region("a write is handed to the engine");
    const std::vector<model::ItemView> old_items = OldItems();
    kv::Batch batch;
    for (const OldImage& image : images_) {
      if (image.pending != nullptr) batch.after.push_back(image.pending->fate);
    }
    if (earlier_token_ != nullptr) batch.after.push_back(earlier_token_->fate);
    if (token_ != nullptr) token_->record.reset();
    Status filled;
    const bool had_memory = RunOrOutOfMemory("evaluation", [&] {
      const MayFail allowed;
      Result<std::vector<Change>> changes = body_(old_items);
      if (!changes.ok()) {
        error_ = std::move(changes).error();
        return;
      }
      Result<WriteEffects> effects = FillBatch(store_, targets_, images_, *changes, fate_, &batch);
      if (effects.ok()) {
        effects_ = std::move(*effects);
        if (extra_) extra_(&batch);
      } else {
        filled = std::move(effects).error();
      }
    });
    if (!had_memory) filled = OutOfMemory();
    if (error_) {
      // The body's.
    } else if (filled.ok()) {
      for (const auto& [i, image] : effects_.images)
        store_.latches().SetPending(places_[i].latch, image);
      if (token_ != nullptr && token_->record) RecordToken(&batch);
    } else {
      // An index that was being built is gone.
      if (shared_ && filled.error().code() == ErrorCode::kFenced)
        return GoOnWithout(std::move(filled).error());
      error_ = std::move(filled).error();
      std::vector<kv::FatePtr> saw = std::move(batch.after);
      batch = kv::Batch();
      batch.after = std::move(saw);
    }
    const bool saw_pending = !batch.after.empty();
    const bool writes = !batch.puts.empty() || !batch.deletes.empty();
    if (!writes && !saw_pending && (!shared_ || fresh_) && !AsksForOneState()) {
      ReleaseLatches();
      Finish(TakeOutcome());
      return;
    }
    if (shared_ && !writes && !saw_pending && !fresh_) return LookAgain();
    if (shared_) Protect(writes, &batch);
    batch.fate = fate_;
    if (permit_ != nullptr) batch.after.push_back(permit_);
    if (!effects_.before.empty()) recording_ = store_.history().Record(std::move(effects_.before));
    // Without changes this is a barrier: an answer derived from a pending image waits until that
    // image is durable.
    store_.engine().Apply(std::move(batch),
                          [this](Result<uint64_t> applied) { Applied(std::move(applied)); });
    ReleaseLatches();
    Part();
  }

  // Whether an answer that changes nothing says something about several items which were read one
  // after the other.
  bool AsksForOneState() const {
    return shared_ && !one_state_ && !error_ && !(token_ != nullptr && token_->earlier);
  }

  // Keeps the latches, and runs the body on what is there.
  void LookAgain() {
    rereads_ = true;
    error_.reset();
    ReadAnew();
  }

  // What others might do to what the batch was computed from refuses it.
  void Protect(bool writes, kv::Batch* batch) {
    std::vector<kv::Guard> guards;
    // What was computed from one image alone is true when that is durable.
    if (writes || targets_.size() > 1 || token_ != nullptr) {
      for (size_t i = 0; i < targets_.size(); ++i) {
        const OldImage& image = images_[i];
        const bool pending = image.pending != nullptr;
        guards.push_back({targets_[i].table->descriptor.tablet(), targets_[i].key,
                          pending ? image.pending->stamp : image.stamp,
                          pending ? image.pending->left_by : nullptr});
        if (guards.back().left_by != nullptr && guards.back().left_by != image.pending->fate)
          batch->after.push_back(guards.back().left_by);
      }
      std::move(token_guards_.begin(), token_guards_.end(), std::back_inserter(guards));
      // Those of entries that were looked up.
      std::move(batch->guards.begin(), batch->guards.end(), std::back_inserter(guards));
    }
    batch->guards = std::move(guards);
    if (writes) {
      for (size_t i = 0; i < targets_.size(); ++i) {
        const TableDescriptor& table = targets_[i].table->descriptor;
        if (EarlierOfTable(i) == nullptr) batch->fences.push_back({table.tablet(), table.fence});
      }
    }
    saw_ = batch->after;
  }

  void RecordToken(kv::Batch* batch) {
    auto pending = std::make_shared<PendingImage>();
    pending->item = store_.tokens().Record(token_->token, *token_->record, batch);
    pending->fate = fate_;
    store_.latches().SetPending(token_latch_, pending);
    written_token_ = std::move(pending);
  }

  void Applied(Result<uint64_t> applied) {
    const bool ok = applied.ok();
    // Stamps of different tablets say nothing about each other where others write; batches that
    // depend on one another come in their order.
    const uint64_t place = !ok || shared_ ? UINT64_MAX : *applied;
    store_.history().Settle(recording_, ok ? std::optional<uint64_t>(place) : std::nullopt);
    if (!ok) {
      fate_->failed.store(true);
      again_ = shared_ && StartsOver(applied.error());
      error_ = std::move(applied).error();
    }
    for (const auto& [i, image] : effects_.images)
      store_.latches().Settle(places_[i].latch, image.get(), ok);
    if (written_token_ != nullptr) store_.latches().Settle(token_latch_, written_token_.get(), ok);
    for (const auto& [mark, time] : effects_.expiries) mark->Added(time);
    if (ok) effects_.CountGrowths();
    Part();
  }

  // The engine's callback and the thread that queued the batch both touch this object; the later
  // one finishes it.
  void Part() {
    if (parts_.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
    if (again_) return StartOver();
    Finish(TakeOutcome());
  }

  // Whether another process was faster, so that there is nothing to tell a client.
  bool StartsOver(const Error& error) {
    switch (error.code()) {
      case ErrorCode::kGuardFailed:
      case ErrorCode::kTransactionConflict: return true;
      case ErrorCode::kFenced: fenced_ = true; return true;
      case ErrorCode::kUnavailable:
        return std::any_of(saw_.begin(), saw_.end(),
                           [](const kv::FatePtr& fate) { return fate->failed.load(); });
      default: return false;
    }
  }

  // Nothing was applied and no latch is held.
  void StartOver() {
    const bool fenced = std::exchange(fenced_, false);
    const bool behind = error_ && error_->code() == ErrorCode::kUnavailable;
    again_ = false;
    error_.reset();
    images_.clear();
    effects_ = {};
    recording_.clear();
    saw_.clear();
    token_guards_.clear();
    earlier_token_ = nullptr;
    written_token_ = nullptr;
    places_.clear();
    rereads_ = true;
    fate_ = std::make_shared<kv::BatchFate>();
    parts_.store(2);
    ++runs_;
    if (permit_ != nullptr && permit_->failed.load()) return Finish(Ended());
    if (WaitedForLong()) return Finish(behind ? Behind() : Conflict());
    store_.tasks().Post([this, fenced] { RunAgain(fenced); }, Pause(fenced));
  }

  void RunAgain(bool fenced) {
    if (store_.tasks().stopped()) return Finish(Closing());
    if (fenced) {
      if (Status followed = FollowCatalog(); !followed.ok()) return Finish(std::move(followed));
    }
    Prepare();
  }

  std::chrono::microseconds Pause(bool fenced) const {
    const int doublings = runs_ - (fenced ? 1 : kRunsAtOnce);
    if (doublings <= 0) return {};
    const uint64_t most = uint64_t{1000} << std::min(doublings, kMostDoublings);
    // Different for writes that have failed together.
    uint64_t mixed = reinterpret_cast<uintptr_t>(this) + static_cast<uint64_t>(runs_);
    mixed = (mixed ^ (mixed >> 29)) * 0x9e3779b97f4a7c15;
    return std::chrono::microseconds(most / 2 + (mixed >> 32) % (most / 2));
  }

  // After a refusal by a fence: takes the versions that there are now.
  Status FollowCatalog() {
    ASSIGN_OR_RETURN(const bool moved, TakeCurrentVersions());
    if (moved) {
      stuck_since_.reset();
      return OkStatus();
    }
    const int64_t now = store_.clock().TicksMicros();
    if (!stuck_since_) stuck_since_ = now;
    if (now - *stuck_since_ < kFencePatienceMicros) return OkStatus();
    stuck_since_.reset();
    for (size_t i = 0; i < targets_.size(); ++i) {
      if (EarlierOfTable(i) != nullptr) continue;
      TRY(store_.AcceptFence(targets_[i].table->descriptor));
    }
    ASSIGN_OR_RETURN([[maybe_unused]] const bool accepted, TakeCurrentVersions());
    return OkStatus();
  }

  // Whether one of them is behind another fence than before. kResourceNotFound.
  Result<bool> TakeCurrentVersions() {
    TRY(store_.Refresh());
    bool moved = false;
    for (size_t i = 0; i < targets_.size(); ++i) {
      WriteTarget& target = targets_[i];
      if (const WriteTarget* first = EarlierOfTable(i); first != nullptr) {
        target.table = first->table;
        continue;
      }
      TablePtr current = store_.Find(target.table->descriptor.name);
      if (current == nullptr || current->descriptor.tablet_id != target.table->descriptor.tablet_id)
        return Error(ErrorCode::kResourceNotFound, "Requested resource not found");
      moved |= current->descriptor.fence != target.table->descriptor.fence;
      target.table = std::move(current);
    }
    return moved;
  }

  Error Conflict() const {
    constexpr const char* kText = "Others have changed the items again and again";
    const bool transaction = targets_.size() > 1 || token_ != nullptr;
    return Error(transaction ? ErrorCode::kTransactionConflict : ErrorCode::kUnavailable, kText);
  }

  // Where others write. While the store does not answer, each of those that wait for one latch, or
  // for a worker, would wait for it anew.
  bool WaitedForLong() const {
    return shared_ && store_.clock().TicksMicros() - started_ > kPatienceMicros;
  }

  // True: it has abandoned the write, as there is no sense in going on.
  bool GivesUp() {
    const bool stopped = store_.tasks().stopped();
    if (!stopped && !WaitedForLong()) return false;
    Abandon(stopped ? Closing() : Behind());
    return true;
  }

  static Error Behind() {
    return Error(ErrorCode::kUnavailable, "Earlier writes do not come to an end.");
  }

  static Error Ended() {
    return Error(ErrorCode::kUnavailable, "The server that handed the write over does not wait.");
  }

  static Error Closing() { return Error(ErrorCode::kUnavailable, "The store is closing."); }

  void Abandon(Error error) {
    ReleaseLatches();
    Finish(std::move(error));
  }

  void ReleaseLatches() {
    const size_t latched = std::exchange(latched_, 0);
    const bool token_latched = std::exchange(token_latched_, false);
    for (size_t i = 0; i < latched; ++i) store_.latches().Release(places_[order_[i]].latch);
    if (token_latched) store_.latches().Release(token_latch_);
  }

  Status TakeOutcome() {
    if (error_) return std::move(*error_);
    return OkStatus();
  }

  static Error OutOfMemory() { return InternalError("Out of memory while handling a write"); }

  void Finish(Status status) {
    for (size_t i = 0; i < entered_; ++i) {
      if (EarlierOfTable(i) == nullptr) targets_[i].table->gate->Leave(places_[i].turn);
    }
    // The callback is destroyed by unwinding if it runs out of memory.
    RunOrOutOfMemory("the answer to a write", [&] {
      const MayFail allowed;
      WriteDone done = std::move(done_);
      delete this;
      done(std::move(status));
    });
  }

  Store& store_;
  const bool shared_;  // others write too
  std::vector<WriteTarget> targets_;
  WriteBody body_;
  WriteDone done_;
  BatchExtra extra_;  // null without
  const WriteDetour detour_;
  const kv::FatePtr permit_;               // null: none is needed
  const std::shared_ptr<TokenUse> token_;  // null without
  std::string token_latch_;
  bool token_latched_ = false;
  bool token_read_ = false;
  std::shared_ptr<const PendingImage> earlier_token_;  // pending entries: the one that was seen,
  std::shared_ptr<const PendingImage> written_token_;  // and ours
  struct Place {
    std::string latch;  // the key of the target's latch
    int turn = 0;       // of the gate of its table, if it was the first to pass it
  };
  std::vector<Place> places_;  // of targets_[i]
  std::vector<size_t> order_;  // targets by latch key
  bool builds_ = false;        // an index of a target's table is being built
  size_t entered_ = 0;         // targets whose tables' gates are passed
  size_t latched_ = 0;         // latches held, in order_
  size_t read_ = 0;            // images read
  std::vector<OldImage> images_;
  WriteEffects effects_;
  History::Recording recording_;  // of what the batch replaces
  std::shared_ptr<kv::BatchFate> fate_ = std::make_shared<kv::BatchFate>();
  std::optional<Error> error_;
  std::atomic<int> parts_{2};
  // Where others write:
  bool rereads_ = false;  // what this process remembers has turned out to be wrong, or may
  using Later = std::pair<size_t, std::optional<Result<std::optional<std::string>>>>;
  std::vector<Later> later_;  // items that are being read, and what came
  std::atomic<size_t> later_left_ = 0;
  bool fresh_ = false;     // what was read is no older than the read,
  bool one_state_ = true;  // and all of one moment
  bool again_ = false;     // the batch was refused, and the write starts over
  bool fenced_ = false;    // by a fence
  int runs_ = 0;
  int64_t started_ = 0;
  std::optional<int64_t> stuck_since_;  // since when the catalog does not follow a fence
  std::vector<kv::Guard> token_guards_;
  std::vector<kv::FatePtr> saw_;  // what the batch was computed from
};

}  // namespace

void Change::DeriveEntries(const Table& table, model::ItemView old_item) {
  if (kind == kNone || table.descriptor.indexes.empty()) return;
  entries = ChangesOfEntries(table.descriptor, old_item,
                             kind == kReindex ? old_item
                             : kind == kPut   ? model::ItemView(item)
                                              : model::ItemView());
}

void Store::Write(std::vector<WriteTarget> targets, WriteBody body, WriteDone done,
                  std::shared_ptr<TokenUse> token, WriteDetour detour, kv::FatePtr permit) {
  (new WriteOperation(*this, std::move(targets), std::move(body), std::move(done), std::move(token),
                      std::move(detour), std::move(permit)))
      ->Start();
}

void WriteWith(Store& store, std::vector<WriteTarget> targets, WriteBody body, BatchExtra extra,
               WriteDone done, WriteDetour detour) {
  (new WriteOperation(store, std::move(targets), std::move(body), std::move(done), nullptr,
                      std::move(detour), nullptr, std::move(extra)))
      ->Start();
}

}  // namespace stator::table

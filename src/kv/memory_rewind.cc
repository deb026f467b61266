// How the memory engine takes writes back: it keeps the first value that a write replaces, for each
// point that watches the key.
#include "kv/memory_rewind.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace stator::kv {
namespace {

// Bytes that a kept key takes beside its own and those of its value: the table's node and place,
// and the allocator's.
constexpr size_t kKeptOverhead = 128;
// Keys that a return changes under one lock (5 to 10 ms), and the time after it that others have: a
// lock that is taken again at once would be had by the same thread. On a busy machine each of these
// times lasts for tens of milliseconds.
constexpr size_t kKeysAtOnce = 5'000;
constexpr auto kBetweenSteps = std::chrono::microseconds(100);

size_t BytesOf(std::string_view key, const std::string* value) {
  return kKeptOverhead + key.size() + (value != nullptr ? value->size() : 0);
}

size_t BytesOf(const OrderedEntries& entries) {
  return entries.size() * kKeptOverhead + entries.bytes();
}

}  // namespace

class MemoryEngine::Rewinding final : public RewindPoint {
 public:
  // The caller holds the lock, alone.
  Rewinding(MemoryEngine& engine, std::vector<kv::Watched> watched,
            std::shared_ptr<RewindBudget> budget)
      : engine_(engine), budget_(std::move(budget)), watches_(watched.size()) {
    for (size_t i = 0; i < watched.size(); ++i) {
      Watch& watch = watches_[i];
      watch.point = this;
      watch.tablet = watched[i].tablet;
      TabletData& data = engine_.tablets_[watch.tablet];
      if (watched[i].group_of == nullptr) {
        watch.Link(&data.watch);
        continue;
      }
      if (data.groups == nullptr) {
        data.groups = std::make_unique<Groups>();
        data.groups->group_of = std::move(watched[i].group_of);
      }
      watch.grouped = true;
      watch.group = std::move(watched[i].group);
      watch.Link(&data.groups->first[watch.group]);
    }
  }
  ~Rewinding() override {
    {
      std::unique_lock lock(engine_.mutex_);
      Unlink();
      Weigh(0);
    }
    // The kept values are freed without the lock, because there may be many.
    budget_->Sub(bytes());
    Trash trash;
    for (Watch& watch : watches_) Throw(&watch, &trash);
    engine_.Dispose(std::move(trash));
  }

  Result<uint64_t> Rewind(Batch batch, Visit visit) override {
    uint64_t applied = 0;
    for (bool more = true, first = true; more; first = false) {
      if (!first) std::this_thread::sleep_for(kBetweenSteps);
      std::vector<Kept::Node> done;  // freed without the lock
      Trash trash;
      {
        std::unique_lock lock(engine_.mutex_);
        if (first) {
          if (given_up()) {
            return Error(ErrorCode::kUnavailable,
                         "More was written since that moment than there is room for.");
          }
          returning_ = true;  // nor may the batch give it up
          const Result<uint64_t> done_batch = engine_.ApplyLocked(batch);
          returning_ = done_batch.ok();
          TRY(done_batch);
          applied = *done_batch;
        }
        more = Step(visit, &done);
        returning_ = more;
        std::swap(trash, engine_.trash_);
      }
      engine_.Dispose(std::move(trash));
    }
    return applied;
  }

  size_t bytes() const override { return bytes_.load(std::memory_order_relaxed); }
  bool given_up() const override { return given_up_.load(std::memory_order_relaxed); }

  // The caller holds the lock, alone, and is about to change the key of one of the watches, which
  // has this value now.
  void Keep(Watch* watch, std::string_view key, const std::string* value) {
    if (given_up() || watch->before.Contains(key)) return;
    if (watch->gone != nullptr && key >= watch->next_gone && watch->gone->Find(key) != nullptr)
      return;
    const size_t more = BytesOf(key, value);
    if (!MakeRoom(more)) return GiveUp();
    Weigh(bytes_.fetch_add(more, std::memory_order_relaxed) + more);
    watch->before.Insert(std::string(key), value != nullptr ? std::optional(*value) : std::nullopt);
  }

  // Likewise, of all keys of the watch's tablet. It costs nothing, but for what was emptied before.
  void KeepGone(Watch* watch, const std::shared_ptr<const OrderedEntries>& gone) {
    if (given_up()) return;
    if (watch->gone != nullptr || returning_) {
      gone->Scan("", "", false, [&](std::string_view key, std::string_view value) {
        const std::string copy(value);
        Keep(watch, key, &copy);
        return true;
      });
      return;
    }
    const size_t more = BytesOf(*gone);
    if (!MakeRoom(more)) return GiveUp();
    Weigh(bytes_.fetch_add(more, std::memory_order_relaxed) + more);
    watch->gone = gone;
  }

 private:
  // Gives some keys of what the watch's tablet was back. Returns false if none is left.
  bool StepGone(Watch* watch, Visit visit, size_t* done) {
    TabletData& data = engine_.tablets_[watch->tablet];
    std::string last;
    bool more = false;
    watch->gone->Scan(watch->next_gone, "", false,
                      [&](std::string_view key, std::string_view value) {
                        more = *done == kKeysAtOnce;
                        if (more) return false;
                        ++*done;
                        last = key;
                        if (watch->before.Contains(key)) return true;
                        std::string then(value);
                        visit(watch->tablet, key, data.entries.Find(key), &then);
                        if (engine_.IsWatched(data)) engine_.Keep(watch->tablet, data, key, this);
                        data.entries.Put(key, std::move(then));
                        return true;
                      });
    if (!last.empty()) watch->next_gone = last + '\0';
    if (more) return true;
    const size_t bytes = BytesOf(*watch->gone);
    budget_->Sub(bytes);
    Weigh(bytes_.fetch_sub(bytes, std::memory_order_relaxed) - bytes);
    ThrowGone(watch, &engine_.trash_);
    return false;
  }

  // Gives some keys back what they had. The caller holds the lock, alone. Returns false if no key
  // is left. A key that has its value again is kept anew if it is written.
  bool Step(Visit visit, std::vector<Kept::Node>* done) {
    size_t looked = 0;
    for (Watch& watch : watches_) {
      if (watch.gone != nullptr && StepGone(&watch, visit, &looked)) return true;
      TabletData& data = engine_.tablets_[watch.tablet];
      while (!watch.before.empty()) {
        if (looked++ == kKeysAtOnce) return true;
        Kept::Node node = watch.before.TakeAny();
        const std::string& key = node.key();
        std::optional<std::string>& value = node.mapped();
        const size_t bytes = BytesOf(key, value ? &*value : nullptr);
        visit(watch.tablet, key, data.entries.Find(key), value ? &*value : nullptr);
        if (engine_.IsWatched(data)) engine_.Keep(watch.tablet, data, key, this);
        if (value) {
          data.entries.Put(key, *std::move(value));
        } else {
          data.entries.Erase(key);
        }
        budget_->Sub(bytes);
        Weigh(bytes_.fetch_sub(bytes, std::memory_order_relaxed) - bytes);
        done->push_back(std::move(node));
      }
    }
    return false;
  }

  // Takes bytes of the budget; if they are not there, points that keep more than this one are given
  // up. Returns false if it keeps the most itself.
  bool MakeRoom(size_t more) {
    while (!budget_->TryAdd(more)) {
      Rewinding* const heaviest = Heaviest();
      const int own = std::bit_width(bytes() + more);
      if (heaviest != nullptr && heaviest != this && heaviest->weight_ > own) {
        heaviest->GiveUp();
      } else if (returning_) {
        budget_->Add(more);  // half a return is none
        return true;
      } else {
        return false;
      }
    }
    return true;
  }

  Rewinding* Heaviest() {
    for (auto weight = engine_.points_.rbegin(); weight != engine_.points_.rend(); ++weight) {
      for (Rewinding* const point : weight->second) {
        if (point->budget_ == budget_ && !point->returning_) return point;
      }
    }
    return nullptr;
  }

  // Notes what is kept.
  void Weigh(size_t bytes) {
    const int weight = std::bit_width(bytes);
    if (weight == weight_) return;
    if (weight_ > 0) {
      const auto found = engine_.points_.find(weight_);
      found->second.erase(this);
      if (found->second.empty()) engine_.points_.erase(found);
    }
    weight_ = weight;
    if (weight_ > 0) engine_.points_[weight_].insert(this);
  }

  void GiveUp() {
    given_up_ = true;
    Unlink();
    for (Watch& watch : watches_) Throw(&watch, &engine_.trash_);
    budget_->Sub(bytes_.exchange(0));
    Weigh(0);
  }

  static void ThrowGone(Watch* watch, Trash* trash) {
    trash->keys += watch->gone->size();
    trash->entries.push_back(std::exchange(watch->gone, nullptr));
    watch->next_gone.clear();
  }
  static void Throw(Watch* watch, Trash* trash) {
    if (watch->gone != nullptr) ThrowGone(watch, trash);
    if (watch->before.empty()) return;
    trash->keys += watch->before.size();
    trash->kept.emplace_back().Swap(&watch->before);
  }

  void Unlink() {
    for (Watch& watch : watches_) {
      if (watch.place == nullptr) continue;
      watch.Unlink();
      if (!watch.grouped) continue;
      TabletData& data = engine_.tablets_[watch.tablet];
      const auto found = data.groups->first.find(watch.group);
      if (found->second == nullptr) data.groups->first.erase(found);
    }
  }

  MemoryEngine& engine_;
  const std::shared_ptr<RewindBudget> budget_;
  std::vector<Watch> watches_;  // never grows: tablets point to them
  std::atomic<size_t> bytes_{0};
  std::atomic<bool> given_up_{false};
  // Guarded by the engine's lock.
  int weight_ = 0;          // the bit width of bytes_
  bool returning_ = false;  // half of it has been done
};

void MemoryEngine::Keep(Tablet tablet, const TabletData& data, std::string_view key,
                        const Rewinding* except) {
  const std::string* const value = data.entries.Find(key);
  if (!pins_.empty()) KeepForPins(tablet, key, value);
  KeepFor(data.watch, key, value, except);
  if (data.groups == nullptr) return;
  const auto group = data.groups->first.find(data.groups->group_of(key));
  if (group != data.groups->first.end()) KeepFor(group->second, key, value, except);
}

void MemoryEngine::KeepGone(const TabletData& data,
                            const std::shared_ptr<const OrderedEntries>& gone) {
  for (Watch* watch = data.watch; watch != nullptr;) {
    Watch* const next = watch->next;
    watch->point->KeepGone(watch, gone);
    watch = next;
  }
}

void MemoryEngine::KeepFor(Watch* first, std::string_view key, const std::string* value,
                           const Rewinding* except) {
  for (Watch* watch = first; watch != nullptr;) {
    Watch* const next = watch->next;  // this one may be given up
    if (watch->point != except) watch->point->Keep(watch, key, value);
    watch = next;
  }
}

std::unique_ptr<RewindPoint> MemoryEngine::SetPoint(std::vector<kv::Watched> watched,
                                                    std::shared_ptr<RewindBudget> budget) {
  std::unique_lock lock(mutex_);
  return std::make_unique<Rewinding>(*this, std::move(watched), std::move(budget));
}

}  // namespace stator::kv

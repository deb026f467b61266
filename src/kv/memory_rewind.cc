// How the memory engine takes writes back: it keeps the first value that a write replaces, for each
// point that watches the key.
#include "kv/memory_rewind.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

namespace stator::kv {
namespace {

// Of a kept key beside its bytes and those of its value: the table's node and place, and the
// allocator's.
constexpr size_t kKeptOverhead = 128;

size_t BytesOf(std::string_view key, const std::string* value) {
  return kKeptOverhead + key.size() + (value != nullptr ? value->size() : 0);
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
      watch.ours = std::move(watched[i].ours);
      watch.next = std::exchange(engine_.tablets_[watch.tablet].watch, &watch);
    }
  }
  ~Rewinding() override {
    {
      std::unique_lock lock(engine_.mutex_);
      Unlink();
    }
    // The kept values are freed without the lock, because there may be many.
    budget_->Sub(bytes());
  }

  Result<uint64_t> Rewind(Batch batch, Visit visit) override {
    std::vector<Watch> done(watches_.size());  // freed without the lock
    std::unique_lock lock(engine_.mutex_);
    if (given_up()) {
      return Error(ErrorCode::kUnavailable,
                   "More was written since that moment than there is room for.");
    }
    for (const Watch& watch : watches_) {
      for (const auto& [key, value] : watch.before)
        visit(watch.tablet, key, engine_.Find(watch.tablet, key), value ? &*value : nullptr);
    }
    const Result<uint64_t> applied = engine_.ApplyLocked(batch);
    TRY(applied);
    for (size_t i = 0; i < watches_.size(); ++i) {
      std::swap(done[i].before, watches_[i].before);
      TabletData& data = engine_.tablets_[watches_[i].tablet];
      const bool kept = data.watch->next != nullptr || !engine_.pins_.empty();
      for (auto& [key, value] : done[i].before) {
        if (kept) engine_.Keep(watches_[i].tablet, data, key, this);
        if (value) {
          data.entries.Put(key, *std::move(value));
        } else {
          data.entries.Erase(key);
        }
      }
    }
    budget_->Sub(bytes_.exchange(0));
    return applied;
  }

  size_t bytes() const override { return bytes_.load(std::memory_order_relaxed); }
  bool given_up() const override { return given_up_.load(std::memory_order_relaxed); }

  // The caller holds the lock, alone, and is about to change the key of one of the watches, which
  // has this value now.
  void Keep(Watch* watch, std::string_view key, const std::string* value) {
    if (watch->ours && !watch->ours(key)) return;
    if (watch->before.contains(key)) return;
    const size_t more = BytesOf(key, value);
    if (!budget_->TryAdd(more)) return GiveUp();
    bytes_.fetch_add(more, std::memory_order_relaxed);
    watch->before.emplace(key, value != nullptr ? std::optional(*value) : std::nullopt);
  }

 private:
  void GiveUp() {
    given_up_ = true;
    Unlink();
    for (Watch& watch : watches_) watch.before = {};
    budget_->Sub(bytes_.exchange(0));
  }

  void Unlink() {
    for (Watch& watch : watches_) {
      Watch** place = &engine_.tablets_[watch.tablet].watch;
      while (*place != nullptr && *place != &watch) place = &(*place)->next;
      if (*place == &watch) *place = watch.next;
    }
  }

  MemoryEngine& engine_;
  const std::shared_ptr<RewindBudget> budget_;
  std::vector<Watch> watches_;  // never grows: tablets point to them
  std::atomic<size_t> bytes_{0};
  std::atomic<bool> given_up_{false};
};

void MemoryEngine::Keep(Tablet tablet, const TabletData& data, std::string_view key,
                        const Rewinding* except) {
  const std::string* const value = data.entries.Find(key);
  if (!pins_.empty()) KeepForPins(tablet, key, value);
  for (Watch* watch = data.watch; watch != nullptr;) {
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

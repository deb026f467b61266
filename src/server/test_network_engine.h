// An engine that behaves as one behind a network: nothing is in memory, and it knows the thread
// that must never wait for it.
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <utility>

#include "kv/engine.h"

namespace stator::server {

class NetworkEngine final : public kv::Engine {
 public:
  explicit NetworkEngine(std::unique_ptr<kv::Engine> inner) : inner_(std::move(inner)) {}

  // From now on counts the calls that may wait and come from this thread.
  void ForbidThisThread() { forbidden_ = std::this_thread::get_id(); }
  void AllowAllThreads() { forbidden_ = std::thread::id(); }
  int forbidden_calls() const { return forbidden_calls_; }

  kv::Capabilities capabilities() const override {
    kv::Capabilities capabilities = inner_->capabilities();
    capabilities.blocking = true;
    return capabilities;
  }
  Result<bool> Get(kv::Tablet tablet, std::string_view key, kv::Tier tier,
                   std::string* value) override {
    if (tier == kv::Tier::kMemory) return WouldBlock();
    if (tier == kv::Tier::kAny) Wait();
    return inner_->Get(tablet, key, tier, value);
  }
  void GetLater(kv::Tablet tablet, std::string_view key, GetDone done) override {
    inner_->GetLater(tablet, key, std::move(done));
  }
  Status MultiGet(std::span<const kv::Point> points, kv::Tier tier,
                  std::vector<std::optional<std::string>>* values) override {
    if (tier == kv::Tier::kMemory) return WouldBlock();
    if (tier == kv::Tier::kAny) Wait();
    return inner_->MultiGet(points, tier, values);
  }
  Status Scan(const kv::Range& range, kv::Tier tier,
              FunctionRef<bool(std::string_view key, std::string_view value)> visit) override {
    if (tier == kv::Tier::kMemory) return WouldBlock();
    if (tier == kv::Tier::kAny) Wait();
    return inner_->Scan(range, tier, visit);
  }
  void Apply(kv::Batch batch, kv::ApplyDone done) override {
    inner_->Apply(std::move(batch), std::move(done));
  }
  Result<kv::Unit> UnitOf(kv::Tablet tablet, std::string_view key, kv::Tier tier) override {
    if (tier != kv::Tier::kAny) return WouldBlock();
    Wait();
    return inner_->UnitOf(tablet, key, tier);
  }
  Status RaiseFence(kv::Tablet tablet, uint64_t fence) override {
    Wait();
    return inner_->RaiseFence(tablet, fence);
  }
  kv::Bulletin* bulletin() override { return inner_->bulletin(); }
  Status Health() const override { return inner_->Health(); }
  uint64_t ApproximateBytes(kv::Tablet tablet) const override {
    Wait();
    return inner_->ApproximateBytes(tablet);
  }
  std::map<std::string, double> Statistics() const override { return inner_->Statistics(); }
  Status Checkpoint(const std::string& directory) override { return inner_->Checkpoint(directory); }

 private:
  static Error WouldBlock() {
    return Error(ErrorCode::kWouldBlock, "this would wait for the network");
  }
  void Wait() const {
    if (std::this_thread::get_id() == forbidden_.load()) ++forbidden_calls_;
  }

  const std::unique_ptr<kv::Engine> inner_;
  std::atomic<std::thread::id> forbidden_{};
  mutable std::atomic<int> forbidden_calls_{0};
};

}  // namespace stator::server

// For tests.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kv/engine.h"

namespace stator::kv_tx {

// An engine that forwards every call to another one. Tests derive from it to change single calls.
class PassingOn : public kv::Engine {
 public:
  explicit PassingOn(std::unique_ptr<kv::Engine> inner) : inner_(std::move(inner)) {}
  kv::Capabilities capabilities() const override { return inner_->capabilities(); }
  Result<bool> Get(kv::Tablet tablet, std::string_view key, kv::Tier tier,
                   std::string* value) override {
    return inner_->Get(tablet, key, tier, value);
  }
  Status MultiGet(std::span<const kv::Point> points, kv::Tier tier,
                  std::vector<std::optional<std::string>>* values) override {
    return inner_->MultiGet(points, tier, values);
  }
  Status Scan(const kv::Range& range, kv::Tier tier,
              FunctionRef<bool(std::string_view, std::string_view)> visit) override {
    return inner_->Scan(range, tier, visit);
  }
  void Apply(kv::Batch batch, kv::ApplyDone done) override {
    inner_->Apply(std::move(batch), std::move(done));
  }
  Result<kv::Unit> UnitOf(kv::Tablet tablet, std::string_view key, kv::Tier tier) override {
    return inner_->UnitOf(tablet, key, tier);
  }
  Status Health() const override { return OkStatus(); }
  uint64_t ApproximateBytes(kv::Tablet) const override { return 0; }
  std::map<std::string, double> Statistics() const override { return {}; }
  Status Checkpoint(const std::string&) override { return Error(ErrorCode::kUnavailable, ""); }

 protected:
  const std::unique_ptr<kv::Engine> inner_;
};

}  // namespace stator::kv_tx

#include "kv/features.h"

#include <gtest/gtest.h>

#include "kv/memory_engine.h"

namespace stator::kv {
namespace {

TEST(Features, StoredFormComesBack) {
  for (const Features& features :
       {Features{}, Features{"a"}, Features{"point-in-time", "a2", std::string(64, 'z')}}) {
    EXPECT_EQ(*SplitFeatures(JoinFeatures(features)), features);
  }
}

TEST(Features, DamagedListIsCorruption) {
  for (const std::string& text : {std::string(" "), std::string("a "), std::string("a  b"),
                                  std::string("A"), std::string("a\n"), std::string(65, 'z')}) {
    const Result<Features> split = SplitFeatures(text);
    ASSERT_FALSE(split.ok()) << text;
    EXPECT_EQ(split.error().code(), ErrorCode::kCorruption);
  }
}

TEST(Features, UnknownOnesAreNamed) {
  const std::string_view known[] = {"a", "b"};
  EXPECT_TRUE(CheckFeatures("The store", {"a", "b"}, known).ok());
  EXPECT_EQ(CheckFeatures("The store in /x", {"a", "c"}, known).error().message(),
            "The store in /x needs the feature c, which this version of Stator does not know. "
            "Start the newer Stator that wrote it.");
  EXPECT_EQ(CheckFeatures("The store", {"d", "c"}, known).error().message(),
            "The store needs the features c, d, which this version of Stator does not know. "
            "Start the newer Stator that wrote it.");
}

// An engine that keeps features and nothing else.
class Keeper final : public Engine, public FeatureKeeper {
 public:
  Status AddFeature(std::string_view name) override {
    ++added_;
    features_.emplace(name);
    return OkStatus();
  }
  Features RequiredFeatures() const override { return features_; }
  int added() const { return added_; }

  FeatureKeeper* feature_keeper() override { return this; }
  Capabilities capabilities() const override { return {}; }
  Result<bool> Get(Tablet, std::string_view, Tier, std::string*) override { return false; }
  Status MultiGet(std::span<const Point>, Tier, std::vector<std::optional<std::string>>*) override {
    return OkStatus();
  }
  Status Scan(const Range&, Tier, FunctionRef<bool(std::string_view, std::string_view)>) override {
    return OkStatus();
  }
  void Apply(Batch, ApplyDone done) override { done(uint64_t{1}); }
  Status Health() const override { return OkStatus(); }
  uint64_t ApproximateBytes(Tablet) const override { return 0; }
  std::map<std::string, double> Statistics() const override { return {}; }
  Status Checkpoint(const std::string&) override { return OkStatus(); }

 private:
  int added_ = 0;
  Features features_;
};

TEST(Features, CheckRefusesBeforeFeatureIsAdded) {
  Keeper keeper;
  std::string asked;
  bool refuse = true;
  keeper.SetFeatureCheck([&](std::string_view name) {
    asked.append(name).append(";");
    return refuse ? Status(Error(ErrorCode::kUnavailable, "a process does not know it"))
                  : OkStatus();
  });
  EXPECT_EQ(RequireFeature(keeper, "shapes").error().message(), "a process does not know it");
  EXPECT_TRUE(RequiredFeatures(keeper).empty());
  refuse = false;
  EXPECT_TRUE(RequireFeature(keeper, "shapes").ok());
  EXPECT_TRUE(RequireFeature(keeper, "shapes").ok());
  EXPECT_EQ(RequiredFeatures(keeper), Features{"shapes"});
  EXPECT_EQ(keeper.added(), 1);
  EXPECT_EQ(asked, "shapes;shapes;");
  MemoryEngine memory;
  EXPECT_TRUE(RequireFeature(memory, "shapes").ok());
}

}  // namespace
}  // namespace stator::kv

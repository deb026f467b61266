// The kv conformance suite on a real cluster: unchanged, and on a tablet that is split all the
// time.
#include <atomic>
#include <thread>

#include "cluster_under_test.h"
#include "increments.h"
#include "kv/conformance.h"
#include "kv/fixed_bytes.h"

namespace stator {
namespace {

constexpr kv::Tablet kReal{kv::Space::kItems, 1};

// An engine whose tablets are collections (kind 10, a hash) of one real tablet: keys that the suite
// changes together stay together while the real tablet is split between them.
class Collections final : public kv::Engine {
 public:
  explicit Collections(std::unique_ptr<kv::Engine> inner) : inner_(std::move(inner)) {}

  kv::Capabilities capabilities() const override { return inner_->capabilities(); }
  Result<bool> Get(kv::Tablet tablet, std::string_view key, kv::Tier tier,
                   std::string* value) override {
    return inner_->Get(kReal, KeyOf(tablet, key), tier, value);
  }
  Status MultiGet(std::span<const kv::Point> points, kv::Tier tier,
                  std::vector<std::optional<std::string>>* values) override {
    std::vector<std::string> keys;
    for (const kv::Point& point : points) keys.push_back(KeyOf(point.tablet, point.key));
    return inner_->MultiGet(PointsOf(keys), tier, values);
  }
  Status Scan(const kv::Range& range, kv::Tier tier,
              FunctionRef<bool(std::string_view key, std::string_view value)> visit) override {
    const std::string begin = KeyOf(range.tablet, range.begin),
                      end = EndOf(range.tablet, range.end);
    if (begin >= end) return OkStatus();
    return inner_->Scan({kReal, begin, end, range.reverse}, tier,
                        [&](std::string_view key, std::string_view value) {
                          return visit(key.substr(kPrefixBytes), value);
                        });
  }
  void Apply(kv::Batch batch, kv::ApplyDone done) override {
    for (kv::DeleteRange& range : batch.range_deletes) {
      range = {kReal, KeyOf(range.tablet, range.begin), EndOf(range.tablet, range.end)};
    }
    for (kv::Put& put : batch.puts) {
      if (put.key_stamp_offset >= 0) put.key_stamp_offset += static_cast<int>(kPrefixBytes);
      put.key = KeyOf(std::exchange(put.tablet, kReal), put.key);
    }
    const auto move = [](auto& parts) {
      for (auto& part : parts) part.key = KeyOf(std::exchange(part.tablet, kReal), part.key);
    };
    move(batch.guards);
    move(batch.deletes);
    move(batch.adds);
    inner_->Apply(std::move(batch), std::move(done));
  }
  Status Health() const override { return inner_->Health(); }
  uint64_t ApproximateBytes(kv::Tablet) const override { return inner_->ApproximateBytes(kReal); }
  std::map<std::string, double> Statistics() const override { return inner_->Statistics(); }
  Status Checkpoint(const std::string& directory) override { return inner_->Checkpoint(directory); }

 private:
  static constexpr size_t kPrefixBytes = 17;
  static std::string KeyOf(kv::Tablet tablet, std::string_view key) {
    std::string prefix(kPrefixBytes, '\x10');
    kv::StoreBig64(prefix.data() + 1,
                   (tablet.id * 3 + static_cast<uint64_t>(tablet.space)) * 0x9E3779B97F4A7C15ull);
    return prefix.append(key);
  }
  static std::string EndOf(kv::Tablet tablet, std::string_view end) {
    std::string key = KeyOf(tablet, end);
    if (end.empty()) ++key.back();
    return key;
  }
  static std::vector<kv::Point> PointsOf(const std::vector<std::string>& keys) {
    std::vector<kv::Point> points;
    for (const std::string& key : keys) points.push_back({kReal, key});
    return points;
  }

  const std::unique_ptr<kv::Engine> inner_;
};

class RadosStore final : public kv::StoreUnderTest {
 public:
  explicit RadosStore(bool split) : split_(split) {
    if (!split) return;
    options_.split_keys = 40;
    other_ = std::thread([this] { Crowd(); });
  }
  ~RadosStore() override {
    stop_ = true;
    if (other_.joinable()) other_.join();
  }
  Result<std::unique_ptr<kv::Engine>> Open() override {
    Result<std::unique_ptr<kv::Engine>> engine = kv_rados::OpenRados(options_);
    if (!engine.ok() || !split_) return engine;
    return std::unique_ptr<kv::Engine>(std::make_unique<Collections>(std::move(*engine)));
  }

 private:
  // Another process, which puts items between the collections, so that there is always something to
  // split.
  void Crowd() {
    Result<std::unique_ptr<kv::Engine>> engine = kv_rados::OpenRados(options_);
    if (!engine.ok()) return;
    SeededRandom random(1);
    for (uint64_t i = 0; !stop_; ++i) {
      std::string key(17, '\x01');
      kv::StoreBig64(key.data() + 1, random.Next());
      kv::Batch batch;
      batch.puts.push_back({kReal, key, std::string(kv::kStampBytes + 20, 'x')});
      const Result<uint64_t> outcome = kv::ApplyAndWait(**engine, std::move(batch));
      EXPECT_TRUE(outcome.ok()) << outcome.error().message();
      std::this_thread::sleep_for(std::chrono::milliseconds(i < 400 ? 2 : 20));
    }
    if (const auto parts = kv_rados::PartsOf(**engine, kReal); parts.ok())
      most_parts = std::max(most_parts.load(), parts->size());
  }

 public:
  static inline std::atomic<size_t> most_parts = 0;

 private:
  const bool split_;
  kv_rados::RadosOptions options_ = ClusterUnderTest::NewStore();
  std::atomic<bool> stop_ = false;
  std::thread other_;
};

class RadosConformance : public testing::TestWithParam<kv::ConformanceCase> {};

TEST_P(RadosConformance, Holds) {
  for (const uint64_t seed : {uint64_t{1}, SystemSeed()}) {
    const Status status = GetParam().run(
        {.make = [] { return std::make_unique<RadosStore>(false); }, .seed = seed, .steps = 1000});
    ASSERT_TRUE(status.ok()) << "seed " << seed << ": " << status.error().message();
  }
}

TEST_P(RadosConformance, HoldsWhilePartsAreSplit) {
  // How many parts a run sees depends on how much the other process has written by its end.
  const auto shows = [] {
    return GetParam().name != "RandomPipelined" || RadosStore::most_parts > 5;
  };
  const auto patience = For(kPatienceMilliseconds);
  do {
    const uint64_t seed = SystemSeed();
    const Status status = GetParam().run(
        {.make = [] { return std::make_unique<RadosStore>(true); }, .seed = seed, .steps = 1000});
    ASSERT_TRUE(status.ok()) << "seed " << seed << ": " << status.error().message();
  } while (!shows() && patience());
  EXPECT_TRUE(shows()) << "nothing was split";
}

INSTANTIATE_TEST_SUITE_P(Suite, RadosConformance, testing::ValuesIn(kv::ConformanceCases()),
                         kv::ConformanceCase::NameOf<testing::TestParamInfo<kv::ConformanceCase>>);

}  // namespace
}  // namespace stator

// The kv conformance suite on a real cluster.
#include "cluster_under_test.h"
#include "kv/conformance.h"

namespace stator {
namespace {

class RadosStore final : public kv::StoreUnderTest {
 public:
  Result<std::unique_ptr<kv::Engine>> Open() override { return kv_rados::OpenRados(options_); }

 private:
  const kv_rados::RadosOptions options_ = ClusterUnderTest::NewStore();
};

class RadosConformance : public testing::TestWithParam<kv::ConformanceCase> {};

TEST_P(RadosConformance, Holds) {
  for (const uint64_t seed : {uint64_t{1}, SystemSeed()}) {
    const Status status = GetParam().run({.make = [] { return std::make_unique<RadosStore>(); }, .seed = seed, .steps = 1000});
    ASSERT_TRUE(status.ok()) << "seed " << seed << ": " << status.error().message();
  }
}

INSTANTIATE_TEST_SUITE_P(Suite, RadosConformance, testing::ValuesIn(kv::ConformanceCases()),
                         kv::ConformanceCase::NameOf<testing::TestParamInfo<kv::ConformanceCase>>);

}  // namespace
}  // namespace stator

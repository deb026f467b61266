// One conformance suite for every engine: it checks the promises of kv/engine.h against a model,
// from a seed. It needs no test framework; an engine's own test instantiates the cases:
//
//   class MyConformance : public testing::TestWithParam<kv::ConformanceCase> {};
//   TEST_P(MyConformance, Holds) {
//     const Status status = GetParam().run({.make = ..., .seed = seed});
//     ASSERT_TRUE(status.ok()) << status.error().message() << " seed " << seed;
//   }
//   INSTANTIATE_TEST_SUITE_P(All, MyConformance, testing::ValuesIn(kv::ConformanceCases()),
//                            kv::ConformanceCase::NameOf);
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kv/engine.h"

namespace stator::kv {

// One store. The suite calls Open again after the previous engine is destroyed; with
// Capabilities::durable the new engine has all acknowledged batches.
class StoreUnderTest {
 public:
  virtual ~StoreUnderTest() = default;
  virtual Result<std::unique_ptr<Engine>> Open() = 0;
};

struct ConformanceOptions {
  std::function<std::unique_ptr<StoreUnderTest>()> make;  // a new, empty store
  uint64_t seed = 1;
  int steps = 2000;  // steps of each random case
};

struct ConformanceCase {
  std::string name;
  // Returns OK, or the promise that the engine broke.
  std::function<Status(const ConformanceOptions&)> run;

  template <typename ParamInfo>
  static std::string NameOf(const ParamInfo& info) {
    return info.param.name;
  }
};

std::vector<ConformanceCase> ConformanceCases();

// Runs every case in turn. The message of a failure names the case and the seed.
Status RunConformance(const ConformanceOptions& options);

}  // namespace stator::kv

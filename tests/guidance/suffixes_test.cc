// Statements about suffixes: their number is the model's, and it holds when it is played.
#include <cmath>
#include <string>

#include "base/random.h"
#include "statements.h"
#include "throughput/key_hash.h"
#include "throughput/suffixes.h"

namespace stator::guidance {
namespace {

using throughput::Access;
using throughput::Draw;
using throughput::HashOfStringKey;
using throughput::Resource;
using throughput::ResourceDefinition;
using throughput::SpreadPlan;
using throughput::SuffixedKey;
using throughput::Verdict;

// `units` writes a second of `key` with a random suffix of the plan, for `seconds`; how many were
// refused.
int64_t PlayPlan(Resource* table, const SpreadPlan& plan, const std::string& key, int64_t units,
                 int64_t from, int64_t seconds, uint64_t seed) {
  SeededRandom random(seed);
  std::vector<uint64_t> hashes;
  for (int64_t n = 1; n <= plan.values; ++n)
    hashes.push_back(plan.values == 1 ? HashOfStringKey(key)
                                      : HashOfStringKey(SuffixedKey(key, n)));
  int64_t refused = 0;
  for (int64_t second = from; second < from + seconds; ++second) {
    for (int64_t i = 0; i < units; ++i) {
      const int64_t at = second * kSecond + i * kSecond / units;
      const Draw draw = Write(hashes[random.Below(hashes.size())]);
      refused += table->Admit(at, draw).admitted ? 0 : 1;
    }
    table->Advance((second + 1) * kSecond);
  }
  return refused;
}

// Does what the plan says first.
void Prepare(Resource* table, const SpreadPlan& plan, const ResourceDefinition& definition) {
  if (plan.capacity == 0) return;
  if (definition.billing == throughput::Billing::kProvisioned) {
    table->SetProvisioned(0, {definition.provisioned.read, plan.capacity});
  } else {
    ASSERT_TRUE(
        table->SetWarm(0, {definition.warm ? definition.warm->read : 12000, plan.capacity}).ok());
  }
}

TEST(Guidance, S31_EveryAdvisedNumberOfSuffixesIsPlayedWithoutARefusal) {
  SeededRandom random(2014);
  int spread = 0, raised = 0;
  for (int load = 0; load < 60; ++load) {
    const int64_t units = 600 + static_cast<int64_t>(random.Below(7000));
    ResourceDefinition definition =
        random.Below(2) == 0 ? Provisioned(100, static_cast<double>(100 + random.Below(12000)))
                             : OnDemand();
    throughput::ModelSettings settings;
    if (random.Below(4) == 0) settings.adaptive = throughput::Adaptive::kOff;
    Resource table(settings, definition, 0);
    const std::string key = "key-" + std::to_string(random.Below(1'000'000));
    const SpreadPlan plan = table.PlanSpread(key, Access::kWrite, static_cast<double>(units));
    SCOPED_TRACE(testing::Message() << "load " << load << ": " << units << "/s of " << key << ", "
                                    << definition.provisioned.write << " WCU, plan " << plan.values
                                    << " on " << plan.partitions << " with " << plan.capacity);
    ASSERT_GT(plan.values, 0);
    Prepare(&table, plan, definition);
    ASSERT_EQ(table.partition_count(), static_cast<size_t>(plan.partitions));
    spread += plan.values > 1 ? 1 : 0;
    raised += plan.capacity > 0 ? 1 : 0;
    EXPECT_EQ(PlayPlan(&table, plan, key, units, 1, 30, random.Next()), 0);
    // Tomorrow's key has other places.
    EXPECT_EQ(PlayPlan(&table, plan, key + "-tomorrow", units, 40, 10, random.Next()), 0);
  }
  EXPECT_GT(spread, 40);
  EXPECT_GT(raised, 10);
}

TEST(Guidance, S32_FewerSuffixesThanAdvisedOverfillAPartition) {
  int quarter = 0;
  for (int n = 0; n < 20; ++n) {
    Resource table({}, Provisioned(100, 4000), 0), other({}, Provisioned(100, 4000), 0);
    const std::string key = "2014-07-" + std::to_string(n + 10);
    SpreadPlan plan = table.PlanSpread(key, Access::kWrite, 3000);
    ASSERT_GT(plan.values, 1);
    EXPECT_EQ(plan.partitions, 5);
    EXPECT_EQ(plan.capacity, 0) << "the table has enough";
    plan.values /= 4;
    quarter += PlayPlan(&table, plan, key, 3000, 1, 10, 1) > 0 ? 1 : 0;
    plan.values = 2;
    EXPECT_GT(PlayPlan(&other, plan, key, 3000, 1, 10, 1), 0) << "1,500 a second each";
  }
  EXPECT_GE(quarter, 1);
}

TEST(Guidance, S33_OneLoadGetsOneNumber) {
  // The number that a refusal, a report and an advice tell comes from here.
  Resource table({}, Provisioned(100, 4000), 0);
  const SpreadPlan plan = table.PlanSpread("2014-07-09", Access::kWrite, 3000);
  Verdict refusal;
  for (int second = 0; second < 60; ++second) {
    Draw draw = Write(HashOfStringKey("2014-07-09"), "2014-07-09");
    table.AdmitMany(second * kSecond, draw, 3000, &refusal);
    table.Advance((second + 1) * kSecond);
  }
  const throughput::Explanation e = table.Explain(60 * kSecond, refusal);
  EXPECT_EQ(e.spread.values, plan.values);
  const std::string cure = "over " + std::to_string(plan.values) + " suffixes";
  const std::string shards = "into " + std::to_string(plan.values) + " shards";
  EXPECT_TRUE(e.advice.at(0).find(cure) != std::string::npos ||
              e.advice.at(0).find(shards) != std::string::npos)
      << e.advice.at(0);
}

TEST(Guidance, S34_TwentyThousandVotesNeedTwentyShardsAtLeast) {
  EXPECT_EQ(throughput::ShardsNeeded(20'000, Access::kWrite), 20);
  ResourceDefinition definition = OnDemand();
  definition.warm = throughput::Rates{12'000, 20'000};
  Resource table({}, definition, 0);
  EXPECT_GE(table.PlanSpread("candidate-A", Access::kWrite, 20'000).values, 20);
}

}  // namespace
}  // namespace stator::guidance

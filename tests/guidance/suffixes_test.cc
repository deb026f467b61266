// Statements about suffixes: their number is the model's, and it holds when it is played.
#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "statements.h"
#include "throughput/key_hash.h"
#include "throughput/partitions.h"
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

bool Says(const throughput::Explanation& e, std::string_view words) {
  return e.advice.at(0).find(words) != std::string::npos;
}

// Other keys that share the partitions: `units` a second of each.
struct Others {
  std::vector<std::pair<std::string, int64_t>> keys;
  int64_t many = 0;  // units a second of a million keys, drawn at random
};

// One second of the load: the hot key by `hot`, and the others; in turn, as they come.
int64_t PlaySecond(Resource* table, int64_t second, int64_t units,
                   const std::function<std::string(SeededRandom&)>& hot, const Others& others,
                   SeededRandom* random, Verdict* refusal) {
  std::vector<std::string> writes;
  for (int64_t i = 0; i < units; ++i) writes.push_back(hot(*random));
  for (const auto& [key, rate] : others.keys) writes.insert(writes.end(), rate, key);
  for (int64_t i = 0; i < others.many; ++i)
    writes.push_back("user-" + std::to_string(random->Below(1'000'000)));
  for (size_t i = writes.size(); i > 1; --i) std::swap(writes[i - 1], writes[random->Below(i)]);
  int64_t refused = 0;
  for (size_t i = 0; i < writes.size(); ++i) {
    const int64_t at =
        second * kSecond + static_cast<int64_t>(i) * kSecond / static_cast<int64_t>(writes.size());
    const Verdict verdict = table->Admit(at, Write(HashOfStringKey(writes[i]), writes[i]));
    if (verdict.admitted) continue;
    ++refused;
    const bool other = writes[i].starts_with("desk-") || writes[i].starts_with("user-");
    if (refusal->admitted || !other) *refusal = verdict;
  }
  table->Advance((second + 1) * kSecond);
  return refused;
}

TEST(Guidance, S35_TheNumberCountsTheOtherKeysOfThePartitions) {
  SeededRandom random(2026);
  int spread = 0, raised = 0, filled = 0, roomed = 0;
  for (int load = 0; load < 60; ++load) {
    const int64_t units = 1200 + static_cast<int64_t>(random.Below(3000));
    Others others;
    others.many = static_cast<int64_t>(random.Below(3000));
    for (uint64_t n = random.Below(6); n > 0; --n) {
      others.keys.emplace_back("desk-" + std::to_string(1000 * n + random.Below(1000)),
                               50 + static_cast<int64_t>(random.Below(700)));
    }
    int64_t all = units + others.many;
    for (const auto& [key, rate] : others.keys) all += rate;
    ResourceDefinition definition =
        random.Below(3) == 0
            ? OnDemand()
            : Provisioned(
                  100, static_cast<double>(all + 200 + static_cast<int64_t>(random.Below(8000))));
    definition.is_index = random.Below(2) == 0;
    const std::string key = "key-" + std::to_string(random.Below(1'000'000));
    SCOPED_TRACE(testing::Message() << "load " << load << ": " << units << "/s of " << key << ", "
                                    << others.many << "/s of many, " << others.keys.size()
                                    << " warm keys, " << definition.provisioned.write << " WCU");
    Resource table({}, definition, 0);
    Verdict refusal;
    int64_t refused = 0;
    for (int64_t second = 0; second < 5; ++second) {
      refused += PlaySecond(
          &table, second, units, [&](auto&) { return key; }, others, &random, &refusal);
    }
    ASSERT_GT(refused, 0);
    ASSERT_FALSE(refusal.admitted);
    const throughput::Explanation e = table.Explain(5 * kSecond, refusal);
    ASSERT_EQ(e.hottest.at(0).partition, key);
    if (e.hottest_share < 0.5) continue;  // not a hot key but a hot partition
    const SpreadPlan& plan = e.spread;
    SCOPED_TRACE(testing::Message()
                 << e.advice.at(0) << " of " << e.demand << " share " << e.hottest_share);
    ASSERT_GT(plan.values, 1);
    // Worst and Explain tell one number.
    const auto worst = table.Worst(5 * kSecond, Access::kWrite, throughput::Limit::kKeyRange);
    ASSERT_TRUE(worst);
    if (worst->partition == e.partition) {
      EXPECT_EQ(worst->spread.values, plan.values);
    }
    spread += 1;
    raised += plan.capacity > 0 ? 1 : 0;
    filled += Says(e, "Other keys alone fill a partition now.") ? 1 : 0;
    // Keys that the plan names get as many suffixes.
    const auto named = [&](const std::string& name) {
      return std::find(plan.also.begin(), plan.also.end(), name) != plan.also.end();
    };
    EXPECT_EQ(Says(e, "Give as many to"), !plan.also.empty());
    roomed += plan.also.empty() ? 0 : 1;
    Others whole = others;
    std::vector<std::string> turns(static_cast<size_t>(units), key);
    for (const auto& [name, rate] : others.keys) {
      if (named(name)) turns.insert(turns.end(), static_cast<size_t>(rate), name);
    }
    std::erase_if(whole.keys, [&](const auto& other) { return named(other.first); });
    Resource cured({}, definition, 0);
    Prepare(&cured, plan, definition);
    ASSERT_EQ(cured.partition_count(), static_cast<size_t>(plan.partitions));
    size_t turn = 0;
    const auto suffixed = [&](SeededRandom& draw) {
      const auto values = static_cast<uint64_t>(plan.values);
      return SuffixedKey(turns[turn++ % turns.size()],
                         1 + static_cast<int64_t>(draw.Below(values)));
    };
    int64_t lost = 0;
    for (int64_t second = 0; second < 20; ++second)
      lost += PlaySecond(&cured, second, static_cast<int64_t>(turns.size()), suffixed, whole,
                         &random, &refusal);
    EXPECT_EQ(lost, 0);
  }
  EXPECT_GT(roomed, 3);
  EXPECT_GT(spread, 30);
  EXPECT_GT(raised, 3);
  EXPECT_GT(filled, 0);
  EXPECT_LT(filled, spread / 2);
}

// Four desks share an index: the plan for the busiest one leaves room for the other three.
TEST(Guidance, S36_FewKeysOfAnIndexAreCounted) {
  ResourceDefinition definition = Provisioned(100, 4000);
  definition.is_index = true;
  Resource index({}, definition, 0), cured({}, definition, 0);
  SeededRandom random(7);
  const Others desks{{{"desk-billing", 250}, {"desk-technical", 250}, {"desk-press", 250}}, 0};
  Verdict refusal;
  for (int64_t second = 0; second < 20; ++second)
    PlaySecond(
        &index, second, 1750, [](auto&) { return "returns"; }, desks, &random, &refusal);
  const throughput::Explanation e = index.Explain(20 * kSecond, refusal);
  const int64_t alone =
      Resource({}, definition, 0).PlanSpread("returns", Access::kWrite, 1750).values;
  EXPECT_GT(e.spread.values, alone);
  ASSERT_EQ(e.advice.size(), 2u) << "another key, or suffixes: a cure each";
  EXPECT_NE(e.advice.at(1).find("over " + std::to_string(e.spread.values) + " suffixes"),
            std::string::npos)
      << e.advice.at(1);
  int64_t lost = 0;
  for (int64_t second = 0; second < 60; ++second) {
    lost += PlaySecond(
        &cured, second, 1750,
        [&](SeededRandom& draw) {
          return SuffixedKey(
              "returns",
              1 + static_cast<int64_t>(draw.Below(static_cast<uint64_t>(e.spread.values))));
        },
        desks, &random, &refusal);
  }
  EXPECT_EQ(lost, 0) << e.advice.at(0);
}

TEST(Guidance, S37_WhereOtherKeysFillAPartitionMoreUnitsHelpAndTwoHotKeysAreBothSpread) {
  SeededRandom random(8);
  // 4,900 writes a second of even keys on six partitions: 816 each, which is beyond 80%.
  Resource even({}, Provisioned(100, 5900), 0);
  Verdict refusal;
  for (int64_t second = 0; second < 10; ++second)
    PlaySecond(
        &even, second, 950, [](auto&) { return "returns"; }, {{}, 4900}, &random, &refusal);
  throughput::Explanation e = even.Explain(10 * kSecond, refusal);
  EXPECT_GT(e.spread.capacity, 5900);
  EXPECT_TRUE(Says(e, "Other keys alone fill a partition now.")) << e.advice.at(0);

  Resource two({}, Provisioned(100, 6000), 0), cured({}, Provisioned(100, 6000), 0);
  const Others press{{{"desk-press", 1600}}, 500};
  for (int64_t second = 0; second < 10; ++second)
    PlaySecond(
        &two, second, 1750, [](auto&) { return "returns"; }, press, &random, &refusal);
  e = two.Worst(10 * kSecond, Access::kWrite, throughput::Limit::kKeyRange).value();
  ASSERT_TRUE(Says(e, "Give as many to \"desk-press\": it is as hot.")) << e.advice.at(0);
  int64_t lost = 0;
  for (int64_t second = 0; second < 30; ++second) {
    lost += PlaySecond(
        &cured, second, 3350,
        [&](SeededRandom& draw) {
          return SuffixedKey(
              draw.Below(3350) < 1750 ? "returns" : "desk-press",
              1 + static_cast<int64_t>(draw.Below(static_cast<uint64_t>(e.spread.values))));
        },
        {{}, 500}, &random, &refusal);
  }
  EXPECT_EQ(lost, 0) << e.advice.at(0);
}

// The plan for today's key holds for the key of any other day: played by arithmetic, since
// chance decides on which partitions the suffixes of another key fall.
TEST(Guidance, S38_ThePlanHoldsForOtherKeysWhereSuffixesAreFew) {
  int64_t keys = 0, overfull = 0;
  for (const size_t count : {4u, 5u, 8u, 16u, 40u}) {
    for (const double units : {1200.0, 1700.0, 2400.0, 3000.0}) {
      const throughput::PartitionMap map = throughput::PartitionMap::Even(count);
      std::vector<throughput::PlannedPartition> partitions;
      for (const uint64_t start : map.starts()) partitions.push_back({start, 1000, 0});
      const throughput::SuffixPlan plan = throughput::PlanSuffixes(
          {{HashOfStringKey("2014-07-09"), units, "2014-07-09"}}, partitions);
      if (plan.values == 0) continue;  // too few partitions for that
      SCOPED_TRACE(testing::Message() << units << " on " << count << ": " << plan.values);
      int64_t bad = 0;
      for (int day = 0; day < 500; ++day) {
        std::vector<double> load(count);
        for (int64_t n = 1; n <= plan.values; ++n) {
          const std::string key = SuffixedKey("day-" + std::to_string(day), n);
          load[map.Find(HashOfStringKey(key))] += units / static_cast<double>(plan.values);
        }
        bad += *std::max_element(load.begin(), load.end()) > 1000 ? 1 : 0;
      }
      keys += 500;
      overfull += bad;
      EXPECT_LE(bad, 25) << "one of twenty, where suffixes are few";
    }
  }
  EXPECT_GT(keys, 5000);
  EXPECT_LE(static_cast<double>(overfull), 0.005 * static_cast<double>(keys)) << overfull;
}

TEST(Guidance, S39_ThePlanSaysWhyItNeedsItsCapacity) {
  // 6,000 a second of one key on five partitions: no suffix makes room.
  Resource table({}, Provisioned(100, 4900), 0);
  Verdict refusal;
  for (int second = 0; second < 5; ++second) {
    table.AdmitMany(second * kSecond, Write(HashOfStringKey("hot"), "hot"), 6000, &refusal);
    table.Advance((second + 1) * kSecond);
  }
  const throughput::Explanation e = table.Explain(5 * kSecond, refusal);
  ASSERT_GT(e.spread.capacity, 0);
  const std::string units = throughput::UnitsText(e.spread.capacity) + " units are ";
  EXPECT_TRUE(Says(e, units)) << e.advice.at(0);
  EXPECT_TRUE(Says(e, "the least that make") || Says(e, "a fifth to spare")) << e.advice.at(0);
  ResourceDefinition definition = Provisioned(100, 4900);
  Resource less({}, definition, 0);
  if (Says(e, "the least that make")) {
    less.SetProvisioned(0, {100, e.spread.capacity - 1});
    EXPECT_LT(less.partition_count(), static_cast<size_t>(e.spread.partitions));
  }
}

// Why a key a little above one partition's maximum takes hundreds of suffixes, and what does less.
TEST(Guidance, S248_ALoadThatNearlyFillsThePartitionsIsToldWhichUnitsNeedFewSuffixes) {
  SeededRandom random(41);
  const Others others{{}, 400};
  Resource table({}, Provisioned(100, 1900), 0);
  Verdict refusal;
  for (int64_t second = 0; second < 5; ++second)
    PlaySecond(
        &table, second, 1100, [](auto&) { return "key-7"; }, others, &random, &refusal);
  const throughput::Explanation e = table.Explain(5 * kSecond, refusal);
  const SpreadPlan& plan = e.spread;
  EXPECT_EQ(plan.partitions, 2);
  EXPECT_GT(plan.values, 100);
  EXPECT_TRUE(Says(e, "They are so many because the load fills 7")) << e.advice.at(0);
  EXPECT_TRUE(Says(e, "first provision " + throughput::UnitsText(plan.roomier_capacity) +
                          " write units; then there are 4 partitions, and " +
                          std::to_string(plan.roomier) + " suffixes are enough"))
      << e.advice.at(0);
  ASSERT_GT(plan.roomier, 1);
  EXPECT_LT(plan.roomier, 20);
  // Both are played without a refusal.
  for (const bool roomier : {false, true}) {
    Resource cured({}, Provisioned(100, 1900), 0);
    if (roomier) cured.SetProvisioned(0, {100, plan.roomier_capacity});
    ASSERT_EQ(cured.partition_count(), roomier ? 4u : 2u);
    const auto values = static_cast<uint64_t>(roomier ? plan.roomier : plan.values);
    int64_t lost = 0;
    for (int64_t second = 0; second < 30; ++second) {
      lost += PlaySecond(
          &cured, second, 1100,
          [&](SeededRandom& draw) {
            return SuffixedKey("key-7", 1 + static_cast<int64_t>(draw.Below(values)));
          },
          others, &random, &refusal);
    }
    EXPECT_EQ(lost, 0) << values;
  }
  // Where there is room the number is small, and nothing is said.
  const SpreadPlan roomy =
      Resource({}, Provisioned(100, 1900), 0).PlanSpread("key-7", Access::kWrite, 1100);
  EXPECT_LT(roomy.values, 30);
  EXPECT_EQ(roomy.roomier, 0);
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

// Acknowledged writes survive a power cut, and no write survives in part: many cuts at random
// places, from a seed.
#include <gtest/gtest.h>

#include <cinttypes>
#include <cstdio>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/log.h"
#include "kv_rocks/power_cut_disk.h"
#include "kv_rocks/rocks_engine.h"
#include "kv_rocks/temporary_directory.h"

namespace stator::kv_rocks {
namespace {

using kv::Space;

// What a store should hold, by tablet and key; values without their stamps.
using Contents = std::map<std::pair<kv::Tablet, std::string>, std::string>;

const std::vector<kv::Tablet> kTablets = {
    {Space::kItems, 1}, {Space::kItems, 2}, {Space::kLog, 1}, {Space::kCatalog, 1}};
const std::pair<kv::Tablet, std::string> kCounter = {{Space::kItems, 1}, "counter"};

void ApplyTo(Contents* contents, const kv::Batch& batch) {
  for (const kv::DeleteRange& range : batch.range_deletes) {
    std::erase_if(*contents, [&](const auto& entry) {
      return entry.first.first == range.tablet && entry.first.second >= range.begin &&
             entry.first.second < range.end;
    });
  }
  for (const kv::Put& put : batch.puts)
    (*contents)[{put.tablet, put.key}] = put.value.substr(kv::kStampBytes);
  for (const kv::Delete& gone : batch.deletes) contents->erase({gone.tablet, gone.key});
  for (const kv::Add& add : batch.adds) {
    std::string& value = (*contents)[{add.tablet, add.key}];
    const int64_t count =
        value.empty() ? 0 : *kv::CounterOf(std::string(kv::kStampBytes, '\0') + value);
    value = kv::EncodeCounter(0, count + add.delta).substr(kv::kStampBytes);
  }
}

kv::Batch RandomBatch(Random& random, uint64_t number) {
  kv::Batch batch;
  if (random.Below(30) == 0) batch.range_deletes.push_back({kTablets[random.Below(4)], "k1", "k3"});
  // Every tablet, so that a batch that is there in part shows.
  for (const kv::Tablet& tablet : kTablets) {
    kv::Put put{tablet, "k" + std::to_string(random.Below(50)), std::string(kv::kStampBytes, '\0')};
    put.value += std::to_string(number);
    const uint64_t filler = random.Below(tablet.space == Space::kItems ? 12'000 : 300);
    for (uint64_t i = 0; i < filler; ++i)
      put.value.push_back(static_cast<char>('a' + (i * 7 + number) % 26));
    batch.puts.push_back(std::move(put));
  }
  batch.adds.push_back({kCounter.first, kCounter.second, 1});
  return batch;
}

Result<Contents> ReadAll(kv::Engine& engine) {
  Contents contents;
  for (const kv::Tablet& tablet : kTablets) {
    TRY(engine.Scan({tablet, {}, {}}, kv::Tier::kAny,
                    [&](std::string_view key, std::string_view value) {
                      contents[{tablet, std::string(key)}] = value.substr(kv::kStampBytes);
                      return true;
                    }));
  }
  return contents;
}

struct Sent {
  kv::Batch batch;
  std::optional<ErrorCode> refusal;
};

void CutAgainAndAgain(uint64_t seed, int rounds, bool holes,
                      std::shared_ptr<const crypt::FileKeys> keys = nullptr) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  SeededRandom random(seed);
  const TemporaryDirectory directory;
  const std::unique_ptr<PowerCutDisk> disk = PowerCutDisk::Make(directory.store());
  const RocksOptions options{.path = directory.store(),
                             .memory_budget_bytes = 8 << 20,
                             .reserve_free_bytes = 0,
                             .keys = std::move(keys),
                             .env = disk->env()};
  Contents expected;
  uint64_t number = 0;
  uint64_t cuts_with_unknown = 0;
  uint64_t last_stamp = 0;
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    // Mostly while writing; sometimes while opening, and then the store must open once the power is
    // back.
    disk->CutAfter(random.Below(8) == 0 ? 1 + random.Below(30) : 20 + random.Below(600));
    std::vector<Sent> sent;
    sent.reserve(2000);
    Result<std::unique_ptr<kv::Engine>> engine = OpenRocks(options);
    if (engine.ok()) {
      while (!disk->cut() && sent.size() < 2000) {
        const uint64_t burst = 1 + random.Below(6);
        for (uint64_t i = 0; i < burst; ++i) {
          sent.push_back({RandomBatch(random, ++number), std::nullopt});
          (*engine)->Apply(sent.back().batch,
                           [outcome = &sent.back().refusal, &last_stamp](Result<uint64_t> stamp) {
                             if (!stamp.ok()) {
                               *outcome = stamp.error().code();
                             } else {
                               EXPECT_GT(*stamp, last_stamp);
                               last_stamp = *stamp;
                             }
                           });
        }
        (void)kv::ApplyAndWait(**engine, kv::Batch());
      }
      engine->reset();
    } else {
      ASSERT_TRUE(disk->cut()) << engine.error().message();
    }
    disk->CutNow();
    disk->LoseUnsynced(random, holes);

    engine = OpenRocks(options);
    ASSERT_TRUE(engine.ok()) << engine.error().message();
    const Result<Contents> found = ReadAll(**engine);
    ASSERT_TRUE(found.ok()) << found.error().message();

    // Unknown batches were one write: all of them are there, or none.
    Contents with_unknown;
    bool unknown = false;
    for (const Sent& each : sent) {
      if (!each.refusal) {
        ASSERT_FALSE(unknown) << "a batch was acknowledged after a failed write to the log";
        ApplyTo(&expected, each.batch);
      } else if (*each.refusal == ErrorCode::kOutcomeUnknown) {
        if (!unknown) with_unknown = expected;
        unknown = true;
        ApplyTo(&with_unknown, each.batch);
      } else {
        ASSERT_EQ(*each.refusal, ErrorCode::kUnavailable);
      }
    }
    if (unknown && *found == with_unknown) {
      ++cuts_with_unknown;
      expected = std::move(with_unknown);
    }
    ASSERT_EQ(found->size(), expected.size());
    ASSERT_TRUE(*found == expected) << "the store differs from what was acknowledged";
    // The stamp goes on above everything that may have been seen.
    const Result<uint64_t> barrier = kv::ApplyAndWait(**engine, kv::Batch());
    ASSERT_TRUE(barrier.ok());
    ASSERT_GE(*barrier, last_stamp);
    last_stamp = *barrier;
  }
  testing::Test::RecordProperty("unknown_batches_found", static_cast<int>(cuts_with_unknown));
  std::printf("power cuts %d, seed %" PRIu64 ", pages %s, found unacknowledged %" PRIu64 "\n",
              rounds, seed, holes ? "out of order" : "in order", cuts_with_unknown);
}

TEST(PowerCut, AcknowledgedWritesSurvive) {
  SetLogLevel(LogLevel::kOff);
  for (const uint64_t seed : {uint64_t{1}, uint64_t{2}, SystemSeed()})
    CutAgainAndAgain(seed, 15, false);
}

TEST(PowerCut, AcknowledgedWritesSurvivePagesOutOfOrder) {
  SetLogLevel(LogLevel::kOff);
  for (const uint64_t seed : {uint64_t{3}, uint64_t{4}, SystemSeed()})
    CutAgainAndAgain(seed, 15, true);
}

TEST(PowerCut, AcknowledgedWritesSurviveEncrypted) {
  SetLogLevel(LogLevel::kOff);
  const auto keys = crypt::FileKeys::Make({std::string(crypt::kMasterKeyBytes, 'k')}).value();
  for (const uint64_t seed : {uint64_t{5}, uint64_t{6}, SystemSeed()})
    CutAgainAndAgain(seed, 10, false, keys);
  for (const uint64_t seed : {uint64_t{7}, uint64_t{8}, uint64_t{9}, SystemSeed()})
    CutAgainAndAgain(seed, 15, true, keys);
}

}  // namespace
}  // namespace stator::kv_rocks

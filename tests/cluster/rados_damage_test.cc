// Objects removed or damaged by hand, or deleted under a running process, are reported as such and
// never read as absence.
#include <gmock/gmock.h>

#include "cluster_under_test.h"
#include "increments.h"

namespace stator {
namespace {

using kv_rados::RadosOptions;
using testing::HasSubstr;

Error GetError(kv::Engine& engine, std::string_view key) {
  std::string value;
  const Result<bool> exists = engine.Get(kTablet, key, kv::Tier::kAny, &value);
  if (exists.ok()) return InternalError(*exists ? "it is there" : "it is absent");
  return exists.error();
}

Error ScanError(kv::Engine& engine, bool reverse) {
  const Status status =
      engine.Scan({kTablet, {}, {}, reverse}, kv::Tier::kAny, [](auto, auto) { return true; });
  return status.ok() ? InternalError("it was scanned") : status.error();
}

struct Damage {
  std::string name;
  std::string command;  // a `rados` command
  std::string says;
  bool cached = true;  // damage is found even if the tablet's place is cached
  bool reads = true;   // damage is found by processes that only read
};

class RadosDamage : public testing::TestWithParam<Damage> {};

TEST_P(RadosDamage, IsReportedAsCorruption) {
  const Damage& damage = GetParam();
  const RadosOptions options = ClusterUnderTest::NewStore();
  const auto warm = Open(options);
  ASSERT_TRUE(warm);
  kv::Batch two = PutOne("a", "1");
  two.puts.push_back(PutOne("b", "2").puts[0]);
  ASSERT_TRUE(kv::ApplyAndWait(*warm, std::move(two)).ok());
  ClusterUnderTest::Command(RadosCommand(options) + damage.command);
  const auto fresh = Open(options);
  ASSERT_TRUE(fresh);
  std::vector<kv::Engine*> engines = {fresh.get()};
  if (damage.cached) engines.push_back(warm.get());
  for (kv::Engine* engine : engines) {
    if (damage.reads) {
      for (const Error& error :
           {GetError(*engine, "a"), ScanError(*engine, false), ScanError(*engine, true)}) {
        EXPECT_EQ(error.code(), ErrorCode::kCorruption) << error.message();
        EXPECT_THAT(error.message(), HasSubstr(damage.says));
      }
    }
    // A write that depends on the value that it overwrites, so that it reads.
    const Result<uint64_t> outcome = kv::ApplyAndWait(*engine, AddOne("a"));
    EXPECT_EQ(CodeOf(outcome), ErrorCode::kCorruption);
    EXPECT_THAT(outcome.ok() ? "" : outcome.error().message(), HasSubstr(damage.says));
    EXPECT_TRUE(engine->Health().ok());
    std::string value;
    const Result<bool> other = engine->Get({kv::Space::kItems, 8}, "a", kv::Tier::kAny, &value);
    EXPECT_TRUE(other.ok() && !*other) << "other tablets go on";
  }
}

const std::string kOf = std::string(" ") + kObject + " ";
INSTANTIATE_TEST_SUITE_P(
    ByHand, RadosDamage,
    testing::ValuesIn(std::vector<Damage>{
        {"HeaderRemoved", "rmxattr" + kOf + "header",
         "The header of the object items.00000007.0 is missing."},
        {"HeaderDamaged", "setxattr" + kOf + "header xx",
         "The header of the object items.00000007.0 is damaged."},
        {"HeaderCut", "setxattr" + kOf + "header \"$(printf '\\001\\001')\"",
         "The header of the object items.00000007.0 is damaged."},
        {"StampRemoved", "rmxattr" + kOf + "stamp", "The stamp of a tablet's object is damaged.",
         true, false},
        {"StampDamaged", "setxattr" + kOf + "stamp x", "The stamp of a tablet's object is damaged.",
         true, false},
        {"SizeRemoved", "rmxattr" + kOf + "size", "The size of a tablet's object is damaged.",
         false, false},
        {"MapEntryRemoved", "rmomapkey stator items.00000007",
         "The tablet items.00000007 was written to, and the object \"stator\" has no entry of it.",
         false},
        {"MapEntryDamaged", "setomapval stator items.00000007 x",
         "An entry of the tablet map is damaged.", false},
        {"MapEntryCut", "setomapval stator items.00000007 \"$(printf '\\001x')\"",
         "An entry of the tablet map is damaged.", false},
        {"StoreObjectRemoved", "rm stator", "The tablet items.00000007 was written to", false},
        {"ValueDamaged", "setomapval" + kOf + "\"$(printf 'ka\\001')\" short",
         "A value in a tablet's object is damaged."},
    }),
    [](const auto& info) { return info.param.name; });

// A key that only the reverse order has, and invalid cells.
TEST(RadosEngine, DamagedOrdersAreCorruption) {
  const RadosOptions options = ClusterUnderTest::NewStore();
  const auto engine = Open(options);
  ASSERT_TRUE(engine && kv::ApplyAndWait(*engine, PutOne("a", "1")).ok());
  ClusterUnderTest::Command(RadosCommand(options) + "rmomapkey " + kObject +
                            " \"$(printf 'ka\\001')\"");
  EXPECT_EQ(ScanError(*engine, true).code(), ErrorCode::kCorruption);
  ClusterUnderTest::Command(RadosCommand(options) + "setomapval " + kObject + " kx value");
  EXPECT_THAT(ScanError(*engine, false).message(),
              HasSubstr("A key of a tablet's object is damaged."));
}

// Also when another pool takes its name: that pool has other data.
TEST(RadosEngine, DeletedPoolIsReportedAsDeleted) {
  RadosOptions options = Impatient();
  options.pool = "doomed";
  options.user = "admin";
  const std::string create = "ceph osd pool create doomed 4 4 2>&1";
  const std::string remove =
      "ceph osd pool delete doomed doomed --yes-i-really-really-mean-it 2>&1";
  ClusterUnderTest::Command(create);
  const auto engine = Open(options), idle = Open(options);
  ASSERT_TRUE(engine && idle && ApplyPatiently(*idle, AddOne("n")));
  std::atomic<int64_t> acknowledged = 0;
  Result<uint64_t> last = uint64_t{0};
  std::thread writer([&] {
    while (last.ok() && acknowledged < 1'000'000) {
      last = kv::ApplyAndWait(*engine, AddOne("n"));
      ++acknowledged;
    }
  });
  EXPECT_TRUE(Await([&] { return acknowledged > 1; }));
  ClusterUnderTest::Command(remove);
  writer.join();
  EXPECT_GT(acknowledged, 1);
  constexpr char kSays[] = "The pool \"doomed\" was deleted while this process used it.";
  ASSERT_FALSE(last.ok());
  EXPECT_TRUE(CodeOf(last) == ErrorCode::kUnavailable ||
              CodeOf(last) == ErrorCode::kOutcomeUnknown);
  EXPECT_THAT(last.error().message(), HasSubstr(kSays));
  for (const bool again : {false, true}) {
    if (again) ClusterUnderTest::Command(create);
    for (kv::Engine* each : {engine.get(), idle.get()}) {
      for (const Error& error :
           {GetError(*each, "n"), ScanError(*each, false), ScanError(*each, true)}) {
        EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
        EXPECT_THAT(error.message(), HasSubstr(kSays));
      }
      const Result<uint64_t> outcome = kv::ApplyAndWait(*each, AddOne("n"));
      EXPECT_EQ(CodeOf(outcome), ErrorCode::kUnavailable);
      EXPECT_THAT(outcome.ok() ? "" : outcome.error().message(), HasSubstr(kSays));
      EXPECT_FALSE(each->Health().ok());
    }
  }
  ClusterUnderTest::Command(remove);
}

}  // namespace
}  // namespace stator

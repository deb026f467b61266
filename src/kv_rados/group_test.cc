#include "kv_rados/group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kv/conformance_model.h"

namespace stator::kv_rados {
namespace {

using testing::ElementsAre;
using testing::Pair;
using Verdict = Group::Verdict;

constexpr kv::Tablet kTablet{kv::Space::kItems, 1};

kv::Batch PutOne(std::string key, std::string_view text = "v") {
  kv::Batch batch;
  batch.puts.push_back({kTablet, std::move(key), kv::ValueOf(text)});
  return batch;
}
kv::Batch Guarded(kv::Batch batch, std::string key, uint64_t stamp) {
  batch.guards.push_back({kTablet, std::move(key), stamp});
  return batch;
}
kv::Batch AddTo(std::string key, int64_t delta) {
  kv::Batch batch;
  batch.adds.push_back({kTablet, std::move(key), delta});
  return batch;
}
kv::Batch DeleteRange(std::string begin, std::string end) {
  kv::Batch batch;
  batch.range_deletes.push_back({kTablet, std::move(begin), std::move(end)});
  return batch;
}

Verdict Join(Group& group, kv::Batch batch, ErrorCode* code = nullptr) {
  Error refusal = InternalError("none");
  const Verdict verdict = group.Join(&batch, &refusal);
  if (code != nullptr) *code = refusal.code();
  return verdict;
}

TEST(RadosGroup, UnknownKeysAreGuardedInTheOperation) {
  const KnownKeys known;
  Group group(10, known, false);
  EXPECT_TRUE(group.empty());
  EXPECT_EQ(Join(group, Guarded(PutOne("a"), "a", 5)), Verdict::kJoined);
  EXPECT_EQ(Join(group, Guarded(PutOne("b"), "b", 0)), Verdict::kJoined);
  EXPECT_EQ(group.last_stamp(), 12);
  EXPECT_THAT(group.guards(), ElementsAre(Pair("a", 5), Pair("b", 0)));
  const auto& changes = group.changes();
  EXPECT_EQ(kv::StampOf(*changes.at("a").value), 11);
  EXPECT_FALSE(changes.at("a").is_new) << "its guard says that it is there";
  EXPECT_TRUE(changes.at("b").is_new);
}

TEST(RadosGroup, LaterBatchesSeeEarlierOnes) {
  const KnownKeys known;
  Group group(10, known, false);
  ASSERT_EQ(Join(group, Guarded(PutOne("a"), "a", 5)), Verdict::kJoined);
  EXPECT_EQ(Join(group, Guarded(PutOne("a"), "a", 5)), Verdict::kNextGroup) << "the first may yet fail";
  EXPECT_EQ(Join(group, Guarded(PutOne("a"), "a", 11)), Verdict::kJoined);
  kv::Batch gone;
  gone.deletes.push_back({kTablet, "a"});
  ASSERT_EQ(Join(group, std::move(gone)), Verdict::kJoined);
  EXPECT_EQ(Join(group, Guarded(PutOne("a"), "a", 0)), Verdict::kJoined);
  EXPECT_THAT(group.guards(), ElementsAre(Pair("a", 5)));
  EXPECT_TRUE(group.changes().at("a").is_new) << "it was deleted in between";
}

TEST(RadosGroup, OnlyFreshKnowledgeRefuses) {
  const KnownKeys known = {{"a", {7, {}}}, {"gone", {}}};
  Group stale(10, known, false);
  EXPECT_EQ(Join(stale, Guarded(PutOne("x"), "a", 6)), Verdict::kRead);
  EXPECT_EQ(Join(stale, AddTo("a", 1)), Verdict::kRead) << "no counter, as far as is known";
  EXPECT_EQ(Join(stale, AddTo("b", 1)), Verdict::kRead);
  EXPECT_EQ(Join(stale, Guarded(PutOne("x"), "a", 7)), Verdict::kJoined);
  EXPECT_TRUE(stale.guards().empty()) << "the stamp of the tablet guards what is known";

  Group fresh(10, known, true);
  ErrorCode code = ErrorCode::kInternal;
  EXPECT_EQ(Join(fresh, Guarded(PutOne("x"), "a", 6), &code), Verdict::kRefused);
  EXPECT_EQ(code, ErrorCode::kGuardFailed);
  EXPECT_EQ(Join(fresh, Guarded(PutOne("x"), "gone", 3), &code), Verdict::kRefused);
  EXPECT_EQ(Join(fresh, AddTo("a", 1), &code), Verdict::kRefused);
  EXPECT_EQ(code, ErrorCode::kCorruption);
  EXPECT_TRUE(fresh.empty());
}

TEST(RadosGroup, GuardsThatContradict) {
  const KnownKeys known;
  Group group(10, known, false);
  EXPECT_EQ(Join(group, Guarded(Guarded(PutOne("x"), "a", 1), "a", 2)), Verdict::kRefused);
  ASSERT_EQ(Join(group, Guarded(PutOne("x"), "a", 1)), Verdict::kJoined);
  EXPECT_EQ(Join(group, Guarded(PutOne("y"), "a", 2)), Verdict::kRead) << "one of the two is wrong";
  EXPECT_EQ(Join(group, Guarded(PutOne("y"), "a", 1)), Verdict::kJoined);
}

TEST(RadosGroup, Counters) {
  KnownKeys known = {{"n", {7, 40}}};
  Group group(10, known, false);
  ASSERT_EQ(Join(group, AddTo("n", 1)), Verdict::kJoined);
  ASSERT_EQ(Join(group, AddTo("n", 1)), Verdict::kJoined);
  EXPECT_EQ(*group.changes().at("n").value, kv::EncodeCounter(12, 42));
  ASSERT_EQ(Join(group, PutOne("n", "text")), Verdict::kJoined);
  EXPECT_EQ(Join(group, AddTo("n", 1)), Verdict::kNextGroup);
  kv::Batch reset = AddTo("n", 5);
  reset.range_deletes.push_back({kTablet, "m", "o"});
  ASSERT_EQ(Join(group, std::move(reset)), Verdict::kJoined);
  EXPECT_EQ(*group.changes().at("n").value, kv::EncodeCounter(14, 5));
  group.Learn(&known);
  EXPECT_EQ(known.at("n").count, 5);
  EXPECT_EQ(known.at("n").stamp, 14);
}

TEST(RadosGroup, RangeDeletesComeFirst) {
  KnownKeys known = {{"c", {3, 1}}, {"z", {4, 2}}};
  Group group(10, known, false);
  ASSERT_EQ(Join(group, DeleteRange("x", "b")), Verdict::kJoined) << "an empty range";
  ASSERT_EQ(Join(group, PutOne("a")), Verdict::kJoined);
  ASSERT_EQ(Join(group, Guarded(PutOne("c"), "c", 3)), Verdict::kJoined);
  EXPECT_FALSE(group.changes().at("c").is_new);
  ASSERT_EQ(Join(group, DeleteRange("b", "d")), Verdict::kJoined);
  ASSERT_EQ(Join(group, DeleteRange("p", "q")), Verdict::kJoined);
  EXPECT_EQ(group.deleted().size(), 2);
  EXPECT_TRUE(group.changes().contains("a"));
  EXPECT_FALSE(group.changes().contains("c")) << "nothing is written that is deleted again";
  EXPECT_EQ(Join(group, Guarded(PutOne("c"), "c", 13)), Verdict::kNextGroup);
  ASSERT_EQ(Join(group, Guarded(PutOne("c"), "c", 0)), Verdict::kJoined);
  EXPECT_TRUE(group.changes().at("c").is_new);
  group.Learn(&known);
  EXPECT_FALSE(known.contains("c")) << "it is no counter any more, and nobody asked for it";
  EXPECT_EQ(known.at("z").count, 2);
}

TEST(RadosGroup, BadBatchesAreRefused) {
  const KnownKeys known;
  Group group(10, known, true);
  kv::Batch batch;
  batch.puts.push_back({kTablet, "a", "short"});
  ErrorCode code = ErrorCode::kGuardFailed;
  EXPECT_EQ(Join(group, std::move(batch), &code), Verdict::kRefused);
  EXPECT_EQ(code, ErrorCode::kInternal);
}

TEST(RadosGroup, KeysOfABatch) {
  kv::Batch batch = Guarded(AddTo("n", 1), "g", 4);
  std::vector<std::string> keys;
  Group::KeysOf(batch, &keys);
  EXPECT_THAT(keys, ElementsAre("g", "n"));
}

}  // namespace
}  // namespace stator::kv_rados

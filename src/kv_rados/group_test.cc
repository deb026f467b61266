#include "kv_rados/group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

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
kv::Batch DeleteKey(std::string key) {
  kv::Batch batch;
  batch.deletes.push_back({kTablet, std::move(key)});
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
  static std::deque<kv::Batch> kept;  // groups view what joined them
  Error refusal = InternalError("none");
  const Verdict verdict = group.Join(&kept.emplace_back(std::move(batch)), &refusal);
  if (code != nullptr) *code = refusal.code();
  return verdict;
}

TEST(RadosGroup, SizeCountsAKeyAsItStandsWithItsStamp) {
  const KnownKeys known;
  // The placeholder's zeros are escaped in the cells; of the stamp only some bytes are.
  for (const uint64_t base : {uint64_t{0}, uint64_t{10}, uint64_t{0x0304050607080900}}) {
    Group group(base, known, false);
    kv::Batch batch = PutOne("q" + std::string(8, '\0') + "a", "text");
    batch.puts[0].key_stamp_offset = 1;
    const size_t value_bytes = batch.puts[0].value.size();
    ASSERT_EQ(Join(group, std::move(batch)), Verdict::kJoined);
    ASSERT_EQ(group.changes().size(), 1u);
    const std::string_view key = group.changes().begin()->first;
    EXPECT_EQ(group.size().bytes, CellBytes(key, value_bytes)) << base;
    EXPECT_EQ(group.size().unsure, 0u);
  }
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
  EXPECT_EQ(Join(group, Guarded(PutOne("a"), "a", 5)), Verdict::kNextGroup)
      << "the first may yet fail";
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
  EXPECT_EQ(known.at("c").stamp, 16) << "it was put";
  EXPECT_FALSE(known.at("c").count) << "it is no counter any more";
  EXPECT_EQ(known.at("z").count, 2);
}

TEST(RadosGroup, WhatItWroteItNeedsNotGuard) {
  KnownKeys known;
  Group first(10, known, false);
  ASSERT_EQ(Join(first, Guarded(PutOne("a"), "a", 3)), Verdict::kJoined);
  ASSERT_EQ(Join(first, Guarded(DeleteKey("b"), "b", 4)), Verdict::kJoined);
  ASSERT_EQ(Join(first, Guarded(PutOne("c"), "watched", 5)), Verdict::kJoined);
  ASSERT_EQ(Join(first, DeleteKey("unasked")), Verdict::kJoined);
  kv::Batch once = PutOne("stamp....");
  once.puts[0].key_stamp_offset = 1;
  ASSERT_EQ(Join(first, std::move(once)), Verdict::kJoined);
  EXPECT_EQ(first.guards().size(), 3);
  first.Learn(&known);
  EXPECT_EQ(known.size(), 3) << "a, b, c";

  Group second(15, known, false);
  ASSERT_EQ(Join(second, Guarded(PutOne("a"), "a", 11)), Verdict::kJoined);
  ASSERT_EQ(Join(second, Guarded(PutOne("b"), "b", 0)), Verdict::kJoined);
  ASSERT_EQ(Join(second, Guarded(PutOne("d"), "c", 13)), Verdict::kJoined);
  EXPECT_TRUE(second.guards().empty());
  EXPECT_FALSE(second.changes().at("a").is_new);
  EXPECT_TRUE(second.changes().at("b").is_new);
  EXPECT_EQ(Join(second, Guarded(PutOne("e"), "c", 5)), Verdict::kRead)
      << "nobody is refused because of what was known before";
}

TEST(RadosGroup, SizesAreExactWhereWhatGoesIsKnown) {
  const auto bytes = [](std::string_view key, size_t text) {
    return CellBytes(key, kv::kStampBytes + text);
  };
  KnownKeys known;
  known["counter"] = {.stamp = 3, .count = 1, .bytes = kv::kCounterBytes};
  known["d"] = {.stamp = 4, .bytes = kv::kStampBytes + 50};
  const auto seen = [](std::string_view key, std::optional<uint64_t> stamp) {
    return (key == "b" && stamp == 5) || (key == "l" && !stamp)
               ? std::optional<size_t>(kv::kStampBytes + 1000)
               : std::nullopt;
  };
  Group group(10, known, true, {.before = {10'000, 100, 0}, .seen = seen});
  const auto after = [&](kv::Batch batch) {
    EXPECT_EQ(Join(group, std::move(batch)), Verdict::kJoined);
    return group.size();
  };
  uint64_t size = 10'000;
  EXPECT_EQ(after(Guarded(PutOne("a", "v"), "a", 0)), (PartSize{size += bytes("a", 1), 101, 0}));
  EXPECT_EQ(after(PutOne("a", "vw")), (PartSize{size += 1, 101, 0}))
      << "it replaces one of the group";
  EXPECT_EQ(after(Guarded(PutOne("b", "v"), "b", 5)), (PartSize{size -= 999, 101, 0}))
      << "it was seen";
  kv::Batch gone;
  gone.deletes = {{kTablet, "d"}};
  EXPECT_EQ(after(gone), (PartSize{size -= bytes("d", 50), 100, 0})) << "it is known";
  EXPECT_EQ(after(gone), (PartSize{size, 100, 0})) << "it is gone";
  EXPECT_EQ(after(AddTo("counter", 1)), (PartSize{size, 100, 0}))
      << "counters stay as large as they are";
  kv::Batch stamped = PutOne(std::string(8, 's'));
  stamped.puts[0].key_stamp_offset = 0;
  std::string with_stamp(8, '\0');
  kv::SetKeyStamp(&with_stamp, 0, group.last_stamp() + 1);
  EXPECT_EQ(after(stamped), (PartSize{size += bytes(with_stamp, 1), 101, 0}))
      << "a stamp is in no older key";

  EXPECT_EQ(after(PutOne("e", "v")), (PartSize{size += bytes("e", 1), 102, bytes("e", 1)}))
      << "it may have been there";
  EXPECT_EQ(after(Guarded(PutOne("f", "v"), "f", 7)),
            (PartSize{size, 102, bytes("e", 1) + bytes("f", 1)}))
      << "it was, and nobody knows how large";
  EXPECT_EQ(after(PutOne("l", "v")), (PartSize{size, 102, bytes("e", 1) + 2 * bytes("f", 1)}))
      << "it was there when last heard of";
  EXPECT_EQ(after(DeleteRange("x", "y")),
            (PartSize{size, 102, bytes("e", 1) + 2 * bytes("f", 1) + size}))
      << "of everything, perhaps";
  kv::Batch all = DeleteRange("", "");
  all.puts = PutOne("g", "v").puts;
  EXPECT_EQ(after(all), (PartSize{bytes("g", 1), 1, 0}));
  EXPECT_EQ(CellBytes(std::string_view("k\0\1\3", 4), 9),
            StoredCellBytes(KeyCell(std::string_view("k\0\1\3", 4)).size(),
                            StoredValue(kv::ValueOf("v")).size()));
}

TEST(RadosGroup, ChangedBytesBoundWhatACountSeesOfTheGroup) {
  KnownKeys known;
  known["d"] = {.stamp = 4, .bytes = kv::kStampBytes + 500};
  Group group(10, known, true, {.before = {10'000, 100, 0}});
  const size_t put = CellBytes("a", kv::kStampBytes + 1);
  const size_t gone = CellBytes("d", kv::kStampBytes + 500);
  EXPECT_EQ(Join(group, Guarded(PutOne("a", "v"), "a", 0)), Verdict::kJoined);
  EXPECT_EQ(group.changed_bytes(), put);
  kv::Batch batch;
  batch.deletes = {{kTablet, "d"}};
  EXPECT_EQ(Join(group, batch), Verdict::kJoined);
  EXPECT_EQ(group.changed_bytes(), put + gone) << "the batch itself is smaller";
  EXPECT_EQ(Join(group, Guarded(PutOne("d"), "d", 7)), Verdict::kNextGroup);
  EXPECT_EQ(group.changed_bytes(), put + gone) << "only of those that join";
  const uint64_t all = group.size().bytes;
  EXPECT_EQ(Join(group, DeleteRange("x", "y")), Verdict::kJoined);
  EXPECT_EQ(group.changed_bytes(), put + gone + all);
}

TEST(RadosGroup, ATabletThatIsFullTakesOnlyWhatMakesItSmaller) {
  KnownKeys known;
  known["old"] = {.stamp = 3, .bytes = kv::kStampBytes + 100};
  const auto full = [](uint64_t unsure) {
    return GroupSize{.before = {1000, 10, unsure}, .max_bytes = 1000};
  };
  ErrorCode code = ErrorCode::kInternal;
  Group group(10, known, true, full(0));
  EXPECT_EQ(Join(group, Guarded(PutOne("a"), "a", 0), &code), Verdict::kRefused);
  EXPECT_EQ(code, ErrorCode::kUnavailable);
  EXPECT_EQ(Join(group, PutOne("old", std::string(90, 'v'))), Verdict::kJoined);
  EXPECT_EQ(Join(group, Guarded(PutOne("a"), "a", 0)), Verdict::kNextGroup)
      << "the group may yet fail";
  kv::Batch gone;
  gone.deletes = {{kTablet, "old"}};
  EXPECT_EQ(Join(group, gone), Verdict::kJoined);
  EXPECT_EQ(Join(group, Guarded(PutOne("a"), "a", 0)), Verdict::kJoined);
  EXPECT_LE(group.size().bytes, 1000);

  Group stale(10, known, false, full(0));
  EXPECT_EQ(Join(stale, Guarded(PutOne("a"), "a", 0)), Verdict::kRead)
      << "another process may have deleted";
  Group unsure(10, known, true, full(1));
  EXPECT_EQ(Join(unsure, Guarded(PutOne("a"), "a", 0)), Verdict::kCount);
  Group counted(10, known, true, {.before = {1000, 10, 1}, .max_bytes = 1000, .is_final = true});
  EXPECT_EQ(Join(counted, PutOne("a"), &code), Verdict::kRefused);
  EXPECT_EQ(code, ErrorCode::kUnavailable);
  // Already too large, as one of an older limit may be.
  Group over(10, known, true, {.before = {2000, 10, 0}, .max_bytes = 1000});
  EXPECT_EQ(Join(over, Guarded(PutOne("a"), "a", 0), &code), Verdict::kRefused);
  EXPECT_EQ(Join(over, gone), Verdict::kJoined);
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
  Group::KeysOf(batch, false, &keys);
  EXPECT_THAT(keys, ElementsAre("g", "n"));
  batch.puts = PutOne("p").puts;
  batch.deletes = {{kTablet, "d"}};
  keys.clear();
  Group::KeysOf(batch, true, &keys);
  EXPECT_THAT(keys, testing::UnorderedElementsAre("g", "n", "p", "d"));
}

}  // namespace
}  // namespace stator::kv_rados

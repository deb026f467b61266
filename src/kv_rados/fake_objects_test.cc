#include "kv_rados/fake_objects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rados/librados.h>

#include <cerrno>

namespace stator::kv_rados {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using Kind = FakeStep::Kind;

class FakeObjectsTest : public testing::Test {
 protected:
  int Apply(FakeSteps steps) { return objects_.Apply("object", steps, &outputs_); }
  static FakeStep Set(const std::string& key, const std::string& value) {
    return {.kind = Kind::kSet, .keys = {key}, .values = {value}};
  }
  static FakeStep Compare(Kind kind, const std::string& name, int how, const std::string& value) {
    return {.kind = kind, .name = name, .value = value, .compare = how};
  }
  std::vector<std::string> Keys() {
    std::vector<std::string> keys;
    for (const auto& [key, value] : objects_.Find("object")->keys) keys.push_back(key);
    return keys;
  }

  FakeObjects objects_;
  std::vector<FakeOutput> outputs_;
};

TEST_F(FakeObjectsTest, OperationIsAppliedAsAWholeOrNotAtAll) {
  EXPECT_EQ(Apply({{.kind = Kind::kCreateExclusively}, Set("a", "1")}), 0);
  EXPECT_EQ(Apply({{.kind = Kind::kCreateExclusively}, Set("b", "1")}), -EEXIST);
  EXPECT_EQ(Apply({Set("b", "1"), Compare(Kind::kCompareKey, "a", LIBRADOS_CMPXATTR_OP_EQ, "2")}),
            -ECANCELED);
  EXPECT_THAT(Keys(), ElementsAre("a"));
}

TEST_F(FakeObjectsTest, ComparisonsSeeTheStateBefore) {
  ASSERT_EQ(Apply({Set("a", "1")}), 0);
  EXPECT_EQ(Apply({Set("a", "2"), Compare(Kind::kCompareKey, "a", LIBRADOS_CMPXATTR_OP_EQ, "1")}),
            0);
  EXPECT_EQ(objects_.Find("object")->keys.at("a"), "2");
}

TEST_F(FakeObjectsTest, MissingNamesCompareAsEmptyAndMissingObjectsAsNothing) {
  const auto absent = Compare(Kind::kCompareKey, "b", LIBRADOS_CMPXATTR_OP_EQ, "");
  EXPECT_EQ(Apply({absent, Set("b", "1")}), -ENOENT);
  ASSERT_EQ(Apply({Set("a", "1")}), 0);
  EXPECT_EQ(Apply({absent, Set("b", "1")}), 0);
  EXPECT_EQ(Apply({absent, Set("b", "1")}), -ECANCELED);
  EXPECT_EQ(Apply({Compare(Kind::kCompareAttribute, "x", LIBRADOS_CMPXATTR_OP_EQ, "v")}),
            -ECANCELED);
}

TEST_F(FakeObjectsTest, OrderOfComparisonsIsThatOfRados) {
  ASSERT_EQ(Apply({Set("a", "m"), {.kind = Kind::kSetAttribute, .name = "x", .value = "m"}}), 0);
  const auto key = [&](int how, const char* with) {
    return Apply({Compare(Kind::kCompareKey, "a", how, with)});
  };
  EXPECT_EQ(key(LIBRADOS_CMPXATTR_OP_GT, "l"), 0);  // what is stored is greater
  EXPECT_EQ(key(LIBRADOS_CMPXATTR_OP_GT, "m"), -ECANCELED);
  EXPECT_EQ(key(LIBRADOS_CMPXATTR_OP_LT, "n"), 0);
  EXPECT_EQ(key(LIBRADOS_CMPXATTR_OP_LT, "m"), -ECANCELED);
  EXPECT_EQ(Apply({Compare(Kind::kCompareAttribute, "x", LIBRADOS_CMPXATTR_OP_GT, "n")}), 0);
  EXPECT_EQ(Apply({Compare(Kind::kCompareAttribute, "x", LIBRADOS_CMPXATTR_OP_NE, "m")}),
            -ECANCELED);
}

TEST_F(FakeObjectsTest, RangeDeleteDoesNotSeeWhatItsOperationMade) {
  ASSERT_EQ(Apply({Set("b", "1"), Set("d", "1")}), 0);
  ASSERT_EQ(Apply({Set("a", "1"),
                   Set("b", "2"),
                   {.kind = Kind::kRemoveRange, .name = "a", .value = "d"},
                   Set("c", "1")}),
            0);
  EXPECT_THAT(Keys(), ElementsAre("a", "c", "d"));
}

TEST_F(FakeObjectsTest, ReadsAreBoundedAndSayWhetherThereIsMore) {
  objects_.max_entries = 2;
  ASSERT_EQ(Apply({Set("ka", "1"), Set("kb", "2"), Set("kc", "3"), Set("l", "4")}), 0);
  ASSERT_EQ(Apply({{.kind = Kind::kRange, .name = "ka", .value = "k", .limit = 1000},
                   {.kind = Kind::kRange, .name = "", .value = "k", .limit = 1000},
                   {.kind = Kind::kKeys, .keys = {"l", "x", "ka"}},
                   {.kind = Kind::kCells, .name = "kb", .limit = 1}}),
            0);
  EXPECT_THAT(outputs_[0].entries, ElementsAre(Pair("kb", "2"), Pair("kc", "3")));
  EXPECT_FALSE(outputs_[0].more);
  EXPECT_THAT(outputs_[1].entries, ElementsAre(Pair("ka", "1"), Pair("kb", "2")));
  EXPECT_TRUE(outputs_[1].more);
  EXPECT_THAT(outputs_[2].entries, ElementsAre(Pair("ka", "1"), Pair("l", "4")));
  EXPECT_THAT(outputs_[3].entries, ElementsAre(Pair("kc", "")));
  EXPECT_TRUE(outputs_[3].more);
}

TEST_F(FakeObjectsTest, WhatStandsBeforeARefusalIsRead) {
  ASSERT_EQ(Apply({{.kind = Kind::kSetAttribute, .name = "x", .value = "v"}}), 0);
  EXPECT_EQ(Apply({{.kind = Kind::kAttributes},
                   Compare(Kind::kCompareAttribute, "x", LIBRADOS_CMPXATTR_OP_NE, "v"),
                   {.kind = Kind::kRange, .limit = 9}}),
            -ECANCELED);
  EXPECT_THAT(outputs_[0].entries, ElementsAre(Pair("x", "v")));
  EXPECT_THAT(outputs_[2].entries, IsEmpty());
}

}  // namespace
}  // namespace stator::kv_rados

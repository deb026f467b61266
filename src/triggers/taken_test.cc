#include "triggers/taken.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace stator::triggers {
namespace {

constexpr size_t kKeyBytes = 32;
constexpr size_t kMost = 500;

// A batch whose changes are of the items that a text names, a letter each.
class TakenChangesTest : public testing::Test {
 protected:
  void Fill(const std::string& items, uint64_t first = 1) {
    changes_.clear();
    batch_.changes.clear();
    for (size_t i = 0; i < items.size(); ++i) {
      changes_.push_back(
          {{first + i, 0}, 0, 0, std::string(kKeyBytes, items[i]) + "{}", kKeyBytes});
    }
    for (const Change& change : changes_) batch_.changes.push_back(&change);
    taken_.Begin(batch_);
  }
  std::vector<size_t> Missing(bool in_order = false) const {
    return taken_.Missing(batch_, batch_.changes.size(), kMost, in_order);
  }
  // Sends what is missing; the stream refuses what `refused` has an x for.
  void Send(const std::string& refused, bool in_order = false) {
    const std::vector<size_t> sent = Missing(in_order);
    ASSERT_EQ(sent.size(), refused.size());
    std::vector<bool> taken;
    for (const char c : refused) taken.push_back(c != 'x');
    taken_.Note(batch_, sent, taken);
  }

  std::vector<Change> changes_;
  Batch batch_;
  TakenChanges taken_;
};

using Indexes = std::vector<size_t>;

TEST_F(TakenChangesTest, WhatIsRefusedIsSentAgainWithTheRestOfItsItem) {
  Fill("abacb");
  EXPECT_EQ(Missing(), (Indexes{0, 1, 2, 3, 4}));
  Send(".x...");  // the last of b was taken before the one that was refused
  EXPECT_EQ(Missing(), (Indexes{1, 4}));
  EXPECT_EQ(taken_.FirstMissing(batch_), 1u);
  Send(".x");
  EXPECT_EQ(Missing(), (Indexes{4}));
  Send(".");
  EXPECT_EQ(Missing(), Indexes{});
  EXPECT_EQ(taken_.FirstMissing(batch_), 5u);
}

TEST_F(TakenChangesTest, AChangeThatWasTakenIsMissingAgainBehindOneThatIsRefusedLater) {
  Fill("aba");
  Send("xx.");
  EXPECT_EQ(Missing(), (Indexes{0, 1, 2}));
  Send("..x");
  EXPECT_EQ(Missing(), (Indexes{2}));
}

TEST_F(TakenChangesTest, ABatchThatBeginsLaterKeepsWhatWasTaken) {
  Fill("abcd");
  Send("..x.");
  EXPECT_EQ(taken_.FirstMissing(batch_), 2u);
  Fill("cdaa", 3);
  EXPECT_EQ(Missing(), (Indexes{0, 2, 3}));
}

TEST_F(TakenChangesTest, InOrderNoChangeGoesBesideAnEarlierOneOfItsItem) {
  Fill("abaacb");
  EXPECT_EQ(Missing(true), (Indexes{0, 1, 4}));
  Send("x..", true);
  EXPECT_EQ(Missing(true), (Indexes{0, 5}));
  Send("..", true);
  EXPECT_EQ(Missing(true), (Indexes{2}));
  EXPECT_EQ(taken_.Missing(batch_, 2, kMost, true), Indexes{});
  Send(".", true);
  Send(".", true);
  EXPECT_EQ(taken_.FirstMissing(batch_), 6u);
}

TEST_F(TakenChangesTest, NoMoreAreSentTogetherThanMayBe) {
  Fill(std::string(kMost + 1, 'a'));
  EXPECT_EQ(Missing().size(), kMost);
}

}  // namespace
}  // namespace stator::triggers

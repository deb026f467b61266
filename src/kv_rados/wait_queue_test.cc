#include "kv_rados/wait_queue.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace stator::kv_rados {
namespace {

class WaitQueueTest : public testing::Test {
 protected:
  void StandAll(const std::string& all) {
    for (const char who : all) line_.Stand(who);
  }
  char Take() {
    return line_.Take(line_.Next([this](char who) { return sizes_[who]; }));
  }
  std::string TakeAll() {
    std::string all;
    while (!line_.empty()) all += Take();
    return all;
  }

  WaitQueue<char> line_;
  std::map<char, size_t> sizes_;
};

TEST_F(WaitQueueTest, WhoHasMostIsNextAndOfThoseTheFirst) {
  sizes_ = {{'a', 1}, {'b', 3}, {'c', 3}, {'d', 2}};
  StandAll("abcd");
  EXPECT_EQ(line_.size(), 4u);
  EXPECT_EQ(TakeAll(), "bcda");
}

TEST_F(WaitQueueTest, NobodyIsPassedOverForEver) {
  sizes_ = {{'a', 1}, {'b', 9}, {'c', 9}};
  StandAll("abc");
  std::string order;
  for (int i = 0; i < 14; ++i) {
    order += Take();
    line_.Stand(order.back());
  }
  EXPECT_EQ(order, "bcbcbcabcbcbca");
}

TEST_F(WaitQueueTest, WhoComesAnewHasNotBeenPassedOver) {
  sizes_ = {{'a', 1}, {'b', 9}};
  StandAll("bbbbbb");
  EXPECT_EQ(TakeAll(), "bbbbbb");
  StandAll("ab");
  EXPECT_EQ(TakeAll(), "ba");
}

TEST_F(WaitQueueTest, OfALongLineThoseAreLookedAtThatStandLongest) {
  WaitQueue<size_t> line;
  for (size_t who = 0; who < 10 * WaitQueue<size_t>::kLooked; ++who) line.Stand(who);
  const auto take = [&line] { return line.Take(line.Next([](size_t who) { return who; })); };
  EXPECT_EQ(take(), WaitQueue<size_t>::kLooked - 1);
  EXPECT_EQ(take(), WaitQueue<size_t>::kLooked);
}

}  // namespace
}  // namespace stator::kv_rados

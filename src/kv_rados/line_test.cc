#include "kv_rados/line.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace stator::kv_rados {
namespace {

class LineTest : public testing::Test {
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

  Line<char> line_;
  std::map<char, size_t> sizes_;
};

TEST_F(LineTest, WhoHasMostIsNextAndOfThoseTheFirst) {
  sizes_ = {{'a', 1}, {'b', 3}, {'c', 3}, {'d', 2}};
  StandAll("abcd");
  EXPECT_EQ(line_.size(), 4u);
  EXPECT_EQ(TakeAll(), "bcda");
}

TEST_F(LineTest, NobodyIsPassedOverForEver) {
  sizes_ = {{'a', 1}, {'b', 9}, {'c', 9}};
  StandAll("abc");
  std::string order;
  for (int i = 0; i < 14; ++i) {
    order += Take();
    line_.Stand(order.back());
  }
  EXPECT_EQ(order, "bcbcbcabcbcbca");
}

TEST_F(LineTest, WhoComesAnewHasNotBeenPassedOver) {
  sizes_ = {{'a', 1}, {'b', 9}};
  StandAll("bbbbbb");
  EXPECT_EQ(TakeAll(), "bbbbbb");
  StandAll("ab");
  EXPECT_EQ(TakeAll(), "ba");
}

TEST_F(LineTest, OfALongLineThoseAreLookedAtThatStandLongest) {
  Line<size_t> line;
  for (size_t who = 0; who < 10 * Line<size_t>::kLooked; ++who) line.Stand(who);
  const auto take = [&line] { return line.Take(line.Next([](size_t who) { return who; })); };
  EXPECT_EQ(take(), Line<size_t>::kLooked - 1);
  EXPECT_EQ(take(), Line<size_t>::kLooked);
}

}  // namespace
}  // namespace stator::kv_rados

#include "throughput/published.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace stator::throughput {
namespace {

struct Tracked {
  explicit Tracked(int value, std::atomic<int>* alive) : value(value), alive(alive) { ++*alive; }
  ~Tracked() {
    value = -1;
    --*alive;
  }
  int value;
  std::atomic<int>* alive;
};

TEST(PublishedTest, APinKeepsItsValueAlive) {
  std::atomic<int> alive{0};
  Published<Tracked> published(std::make_unique<Tracked>(1, &alive));
  {
    const Published<Tracked>::Pin pin(published);
    published.Publish(std::make_unique<Tracked>(2, &alive));
    published.Reclaim();
    EXPECT_EQ(pin->value, 1);
    EXPECT_EQ(alive, 2);
    EXPECT_EQ(Published<Tracked>::Pin(published)->value, 2);
  }
  published.Reclaim();
  EXPECT_EQ(alive, 1);
  EXPECT_EQ(published.retired(), 0u);
}

TEST(PublishedTest, ReadersNeverSeeAFreedValue) {
  std::atomic<int> alive{0};
  std::atomic<bool> stop{false};
  Published<Tracked> published(std::make_unique<Tracked>(0, &alive));
  std::vector<std::thread> readers;
  std::atomic<int> bad{0};
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      int last = 0;
      while (!stop) {
        const Published<Tracked>::Pin pin(published);
        if (pin->value < last) ++bad;
        last = pin->value;
      }
    });
  }
  for (int i = 1; i <= 20'000; ++i) published.Publish(std::make_unique<Tracked>(i, &alive));
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(bad, 0);
  published.Reclaim();
  EXPECT_EQ(alive, 1);
}

}  // namespace
}  // namespace stator::throughput

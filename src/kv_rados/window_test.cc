#include "kv_rados/window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "base/random.h"

namespace stator::kv_rados {
namespace {

constexpr size_t kSources = 16;
const size_t kFew = Window::Width(1, kSources);

std::vector<Window::Ticket> BeginMany(Window& window, int64_t now, size_t count) {
  std::vector<Window::Ticket> tickets;
  for (size_t i = 0; i < count; ++i) {
    if (const auto ticket = window.Begin(now, kSources)) tickets.push_back(*ticket);
  }
  return tickets;
}

// Operations on some objects, two at a time on each, by clients of which each has one request under
// way. An operation passes through one queue, where it costs something and something more for each
// request, and is on its way for a time of its own.
struct Load {
  size_t clients = 64;
  size_t sources = kSources;
  int64_t operation_micros = 0, request_micros = 0;  // in the queue
  int64_t way_micros = 300;
  int64_t slow_micros = 0;  // of one operation in ten, instead: disks
  int64_t think_micros = 50;
  bool others = false;  // make the queue up to nine times as slow, some milliseconds at a time
  bool with_window = true;
};

class World {
 public:
  World(const Load& load, uint64_t seed) : load_(load), random_(seed), objects_(load.sources) {
    for (size_t i = 0; i < load.clients; ++i)
      At(static_cast<int64_t>(random_.Below(1000)), {Event::kArrives, 0, 0, 0});
  }
  // How many requests a second are answered, once it has gone on for five.
  double RateAfterWarmUp(int64_t seconds) {
    RunUntil(5'000'000);
    const uint64_t before = answered_;
    RunUntil((5 + seconds) * 1'000'000);
    return static_cast<double>(answered_ - before) / static_cast<double>(seconds);
  }
  void RunUntil(int64_t end) {
    while (!events_.empty() && events_.top().time <= end) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.time;
      if (event.what == Event::kArrives) {
        Arrive(random_.Below(objects_.size()));
      } else {
        End(event);
      }
    }
    now_ = end;
  }
  double together() const {
    return static_cast<double>(answered_) / static_cast<double>(operations_);
  }
  uint64_t refused() const { return refused_; }
  const Window& window() const { return window_; }
  void AddClients(size_t more) {
    for (size_t i = 0; i < more; ++i) At(now_, {Event::kArrives, 0, 0, 0});
  }

 private:
  struct Event {
    enum What { kArrives, kEnds } what = kArrives;
    size_t object = 0;
    Window::Ticket ticket = 0;
    size_t requests = 0;
    int64_t time = 0;
    uint64_t number = 0;
    bool operator>(const Event& other) const {
      return std::pair(time, number) > std::pair(other.time, other.number);
    }
  };
  struct Object {
    size_t waiting = 0, under_way = 0;
    bool in_line = false;
  };

  void At(int64_t time, Event event) {
    event.time = time;
    event.number = ++number_;
    events_.push(event);
  }
  void Arrive(size_t object) {
    ++objects_[object].waiting;
    Stand(object);
    Serve();
  }
  void Stand(size_t object) {
    Object& is = objects_[object];
    if (is.waiting == 0 || is.in_line || is.under_way == 2) return;
    is.in_line = true;
    line_.push_back(object);
  }
  void Serve() {
    while (!line_.empty()) {
      size_t sources = 0;
      for (const Object& object : objects_)
        sources += object.waiting + object.under_way > 0 ? 1 : 0;
      std::optional<Window::Ticket> ticket = load_.with_window ? window_.Begin(now_, sources) : 0;
      if (!ticket) {
        ++refused_;
        return;
      }
      // Who has most that waits is next, as in the WaitQueue.
      const auto next = std::max_element(line_.begin(), line_.end(), [this](size_t a, size_t b) {
        return objects_[a].waiting < objects_[b].waiting;
      });
      const size_t object = *next;
      line_.erase(next);
      Object& is = objects_[object];
      is.in_line = false;
      ++is.under_way;
      ++operations_;
      int64_t costs =
          load_.operation_micros + static_cast<int64_t>(is.waiting) * load_.request_micros;
      if (load_.others) costs += costs * Others() / 100;
      free_ = std::max(free_, now_) + costs;
      const bool slow = load_.slow_micros > 0 && random_.Below(10) == 0;
      At(free_ + (slow ? load_.slow_micros : load_.way_micros),
         {Event::kEnds, object, *ticket, std::exchange(is.waiting, 0)});
    }
  }
  int64_t Others() {
    if (now_ >= others_until_) {
      others_ = static_cast<int64_t>(random_.Below(800));
      others_until_ = now_ + 5'000 + static_cast<int64_t>(random_.Below(60'000));
    }
    return others_;
  }
  void End(const Event& event) {
    if (load_.with_window) window_.Ended(event.ticket, now_, event.requests);
    --objects_[event.object].under_way;
    answered_ += event.requests;
    for (size_t i = 0; i < event.requests; ++i) {
      At(now_ + load_.think_micros + static_cast<int64_t>(random_.Below(20)),
         {Event::kArrives, 0, 0, 0});
    }
    Stand(event.object);
    Serve();
  }

  const Load load_;
  SeededRandom random_;
  Window window_;
  int64_t now_ = 0, free_ = 0, others_ = 0, others_until_ = 0;
  uint64_t number_ = 0, answered_ = 0, operations_ = 0, refused_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<Object> objects_;
  std::deque<size_t> line_;
};

TEST(Window, AFewMayAlwaysBeUnderWay) {
  for (const size_t few : {3, 4}) {
    Window window;
    int64_t now = 0;
    for (int i = 0; i < 100'000; ++i) {
      const auto tickets = BeginMany(window, now, few);
      ASSERT_EQ(tickets.size(), few);
      for (const Window::Ticket ticket : tickets) window.Ended(ticket, now += 100, 1);
    }
    EXPECT_EQ(window.level(), 0) << "nobody wanted more";
  }
}

TEST(Window, IsNarrowWhereOperationsAreTheBottleneck) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    Load load{.operation_micros = 50, .request_micros = 10};
    World adapts(load, seed);
    load.with_window = false;
    World open(load, seed);
    const double without = open.RateAfterWarmUp(10), with = adapts.RateAfterWarmUp(10);
    EXPECT_GT(with, 1.3 * without) << "seed " << seed;
    EXPECT_GT(adapts.together(), 1.8 * open.together());
  }
}

// The narrower, the more each operation carries, until it is the requests that cost.
TEST(Window, IsNoNarrowerThanItPays) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    World much({.operation_micros = 200, .request_micros = 5, .way_micros = 100}, seed);
    much.RunUntil(20'000'000);
    World little({.operation_micros = 60, .request_micros = 10, .way_micros = 600}, seed);
    int levels = 0;
    for (int64_t now = 20'000'000; now < 40'000'000; now += 100'000) {
      much.RunUntil(now);
      little.RunUntil(now);
      levels += much.window().level() - little.window().level();
    }
    EXPECT_GT(levels, 150) << "of 200, seed " << seed;
  }
}

TEST(Window, IsOpenWhereOperationsTakeTimeAndNothingElse) {
  for (const int64_t slow : {0, 5'000, 50'000}) {
    double without = 0, with = 0;
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      Load load{.operation_micros = 1, .slow_micros = slow};
      with += World(load, seed).RateAfterWarmUp(10);
      load.with_window = false;
      without += World(load, seed).RateAfterWarmUp(10);
    }
    EXPECT_GT(with, 0.97 * without) << "slow " << slow;
  }
}

// Each trial is a guess then, but most of the time it is narrow.
TEST(Window, IsNarrowMostlyWhereOthersUseTheMachineToo) {
  int narrow = 0, all = 0;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    World world({.operation_micros = 20, .request_micros = 50, .others = true}, seed);
    for (int64_t now = 5'000'000; now < 30'000'000; now += 100'000, ++all) {
      world.RunUntil(now);
      narrow += world.window().level() > 0 ? 1 : 0;
    }
  }
  EXPECT_GT(narrow, all * 85 / 100) << "of " << all;
}

// A load of which open serves an eighth of what the others do, and the narrowest `worse` times less
// than these. `look` is called after each round, until it returns false.
void LoadForTheNarrow(Window& window, int64_t* now, double worse,
                      const std::function<bool()>& look) {
  do {
    const auto tickets = BeginMany(window, *now, kSources);
    const double took = tickets.size() > kFew ? 4000 : tickets.size() == kFew ? 500 : 250 * worse;
    const size_t served = std::min(tickets.size(), kFew);
    *now += static_cast<int64_t>(took);
    for (size_t i = 0; i < tickets.size(); ++i) window.Ended(tickets[i], *now, i < served ? 10 : 0);
  } while (look());
}

TEST(Window, OfTwoThatServeTheSameItIsTheNarrower) {
  const auto narrowest = [](double worse) {
    Window window;
    int64_t now = 0;
    int at = 0, all = 0;
    LoadForTheNarrow(window, &now, worse, [&] {
      at += window.level() == Window::kLevels - 1 ? 1 : 0;
      ++all;
      return now < 30'000'000;
    });
    return 100 * at / all;
  };
  EXPECT_GT(narrowest(1), 90) << "% of the time";
  EXPECT_LT(narrowest(1.06), 20);
}

TEST(Window, TheNextBurstBeginsWhenTheLastHasEnded) {
  Window window;
  int64_t now = 0;
  int rounds = 0;  // so many in a row that it is no trial
  LoadForTheNarrow(window, &now, 1, [&] {
    rounds = window.level() == Window::kLevels - 1 ? rounds + 1 : 0;
    return rounds < 1000;
  });
  ASSERT_TRUE(Window::InBursts(window.level()));
  const auto burst = BeginMany(window, now, kSources);
  ASSERT_EQ(burst.size(), Window::Width(window.level(), kSources));
  for (size_t i = 0; i + 1 < burst.size(); ++i) window.Ended(burst[i], now + 100, 10);
  EXPECT_FALSE(window.Begin(now + 100, kSources)) << "one is still under way";
  window.Ended(burst.back(), now + 100, 10);
  auto next = BeginMany(window, now + 100, kSources);
  ASSERT_EQ(next.size(), burst.size());
  window.GiveBack(next.back());
  EXPECT_TRUE(window.Begin(now + 100, kSources)) << "in the place of that one";
  EXPECT_FALSE(window.Begin(now + 100, kSources));
  EXPECT_EQ(BeginMany(window, now + 1'000'000, kSources).size(), burst.size())
      << "what hangs does not keep it up";
}

TEST(Window, ChangesItsMindWithTheLoad) {
  World world({.clients = 3, .operation_micros = 50, .request_micros = 10}, 7);
  world.RunUntil(5'000'000);
  EXPECT_EQ(world.refused(), 0u) << "three never wait for each other";
  world.AddClients(61);
  world.RunUntil(6'000'000);
  EXPECT_GT(world.window().level(), 0);
  EXPECT_GT(world.refused(), 0u);
}

// Trials cost what the worse of two widths does: the clearer it is which that is, the fewer there
// are.
TEST(Window, WhatIsBeyondDoubtIsTriedSeldom) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    World world({.operation_micros = 60, .request_micros = 10, .way_micros = 600}, seed);
    int open = 0, all = 0;
    for (int64_t now = 0; now < 20'000'000; now += 1'000, ++all) {
      world.RunUntil(now);
      open += world.window().level() == 0 ? 1 : 0;
    }
    EXPECT_LT(open, all * 33 / 1000) << "of " << all << ", seed " << seed;
  }
}

TEST(Window, AfterAPauseItIsAsNarrowAsBefore) {
  Window window;
  int64_t now = 0;
  // Operations cost the same however many requests they carry, and sixteen clients wait for them.
  const auto load = [&](int64_t micros, size_t operations) {
    for (const int64_t end = now + micros; now < end; now += 1000) {
      const auto tickets = BeginMany(window, now, operations);
      for (const Window::Ticket ticket : tickets)
        window.Ended(ticket, now + 1000, operations / tickets.size());
    }
  };
  for (int i = 0; i < 3000; ++i) {
    const auto tickets = BeginMany(window, now, 16);
    now += static_cast<int64_t>(tickets.size()) * 1000;
    for (const Window::Ticket ticket : tickets) window.Ended(ticket, now, 16 / tickets.size());
  }
  const int narrow = window.level();
  ASSERT_GT(narrow, 0);
  load(Window::kRememberMicros / 2, 1);
  EXPECT_EQ(window.level(), 0) << "one at a time need no window";
  load(500'000, 16);
  EXPECT_EQ(window.level(), narrow);
  load(2 * Window::kRememberMicros, 1);
  load(10'000, 16);
  EXPECT_EQ(window.level(), 0) << "that was long ago";
}

// Operations take eight times as long unless four are under way, until that is what trials have
// found, and kept for a while.
TEST(Window, WhatHangsLeaves) {
  Window window;
  int64_t now = 0;
  for (int64_t since = 0; now < 2'000'000 || now - since < 100'000;) {
    ASSERT_LT(now, 60'000'000);
    const auto tickets = BeginMany(window, now, 16);
    const int64_t took = tickets.size() == kFew ? 500 : 4000;
    for (const Window::Ticket ticket : tickets) window.Ended(ticket, now + took, 1);
    now += took;
    if (tickets.size() != kFew) since = now;
  }
  ASSERT_EQ(BeginMany(window, now, 16).size(), kFew);
  ASSERT_EQ(window.under_way(), kFew);
  ASSERT_FALSE(window.Begin(now, kSources));
  const std::optional<int64_t> leaves = window.OldestLeaves();
  ASSERT_TRUE(leaves);
  EXPECT_GE(*leaves, now + Window::kPatienceMicros);
  EXPECT_LT(*leaves, now + 3 * Window::kPatienceMicros);
  EXPECT_FALSE(window.Begin(*leaves - 1, kSources));
  EXPECT_EQ(BeginMany(window, *leaves, 16).size(), kFew) << "all four began together";
  window.Ended(1, *leaves, 1);  // it answers after all, or did before: nothing to anybody
  EXPECT_EQ(window.under_way(), kFew);
  EXPECT_FALSE(window.Begin(*leaves, kSources));
}

// Then that is what operations usually take.
TEST(Window, WhatHangsLeavesWhereAllHang) {
  Window window;
  int64_t now = 0;
  for (int i = 0; i < 200; ++i) {
    const auto tickets = BeginMany(window, now, 2);
    ASSERT_EQ(tickets.size(), 2u);
    now += 5'000'000;
    for (const Window::Ticket ticket : tickets) window.Ended(ticket, now, 0);
  }
  ASSERT_TRUE(window.Begin(now, kSources));
  EXPECT_LE(*window.OldestLeaves(), now + Window::kMaxPatienceMicros + 1);
}

TEST(Window, IsWiderForMoreObjects) {
  EXPECT_EQ(Window::Width(1, 0), 4u);
  EXPECT_EQ(Window::Width(2, 0), 4u);
  EXPECT_EQ(Window::Width(3, 0), 2u);
  EXPECT_EQ(Window::Width(1, 16), 4u);
  EXPECT_EQ(Window::Width(2, 16), 4u);
  EXPECT_EQ(Window::Width(3, 16), 2u);
  EXPECT_EQ(Window::Width(1, 1000), 250u);
  EXPECT_EQ(Window::Width(2, 1000), 250u);
  EXPECT_EQ(Window::Width(3, 1000), 125u);
}

}  // namespace
}  // namespace stator::kv_rados

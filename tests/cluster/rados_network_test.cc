// Monitors and networks fail during writes. librados connects from this process, so `connect` is
// replaced here by a version that leads through a proxy (network.h).
#include "network.h"

#include <gmock/gmock.h>

#include "cluster_under_test.h"
#include "increments.h"

extern "C" int connect(int fd, const sockaddr* address, socklen_t length) {
  return stator::RedirectedConnect(fd, address, length);
}

namespace stator {
namespace {

using kv_rados::RadosOptions;

void Sleep(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

// One process is cut off, in every way and several times; another process on the same tablet is
// not.
TEST(RadosNetwork, CutNetworkAppliesNothingTwice) {
  const RadosOptions options = Impatient();
  const auto direct = Open(options);
  ASSERT_TRUE(direct && kv::ApplyAndWait(*direct, AddOne("count", 0)).ok());
  Network network;
  const auto behind = Open(options);
  ASSERT_TRUE(behind && kv::ApplyAndWait(*behind, AddOne("count", 0)).ok());
  ASSERT_GT(network.connections(), 0);

  std::atomic<bool> stop = false;
  std::atomic<int64_t> unknown = 0, of_direct = 0, of_behind = 0;
  std::thread near([&] {
    of_direct = Increment(
        {direct.get()}, 1, [&](int64_t) { return Sleep(20), !stop; }, &unknown);
  });
  std::thread far([&] {
    of_behind = Increment(
        {behind.get()}, 2, [&](int64_t) { return !stop; }, &unknown);
  });
  using enum Network::Mode;
  const auto found = [&] { return behind->Statistics()["kv_rados_found_in_ledger"]; };
  // It depends on chance whether an operation was applied, its answer lost, and another operation
  // came after it; usually that happens in the first round.
  for (int round = 0; round == 0 || (round < 10 && found() == 0); ++round) {
    for (const auto& [first, then] :
         {std::pair(kNoAnswers, kWhole), std::pair(kNoAnswers, kCut), std::pair(kHeld, kWhole),
          std::pair(kHeld, kCut), std::pair(kNoAnswers, kCut), std::pair(kCut, kWhole)}) {
      Sleep(200);
      network.Set(first);
      Sleep(1300);  // an operation is given up after a second
      const int64_t number = NumberOf(*direct);
      Sleep(150);
      EXPECT_GT(NumberOf(*direct), number) << "the other process goes on";
      network.Set(then);
      Sleep(300);
      network.Set(kWhole);
    }
  }
  // Within ten seconds of the repair.
  const uint64_t groups = static_cast<uint64_t>(behind->Statistics()["kv_commit_groups"]);
  const auto go_on = For(10'000);
  while (go_on() && behind->Statistics()["kv_commit_groups"] < static_cast<double>(groups + 5))
    Sleep(20);
  EXPECT_GE(behind->Statistics()["kv_commit_groups"], static_cast<double>(groups + 5));
  stop = true;
  near.join();
  far.join();
  EXPECT_GT(of_behind, 10);
  EXPECT_EQ(unknown, 0) << "all can be found out";
  EXPECT_EQ(NumberOf(*direct), of_direct + of_behind);
  EXPECT_EQ(CountOf(*behind, "count"), of_direct + of_behind);
  EXPECT_GT(behind->Statistics()["kv_rados_sent_again"], 0);
  EXPECT_GT(found(), 0);
}

// Answers stay away for longer than the deadline: acknowledged writes are there, and no write is
// applied twice.
TEST(RadosNetwork, CutOffPastTheDeadlineOutcomesAreUnknown) {
  RadosOptions options = Impatient();
  options.deadline_seconds = 2;
  Network network;
  const auto engine = Open(options);
  ASSERT_TRUE(engine && kv::ApplyAndWait(*engine, AddOne("count", 0)).ok());
  // One write that is certainly sent, because it needs no read.
  ASSERT_TRUE(kv::ApplyAndWait(*engine, AddOne("another", 0)).ok());
  network.Set(Network::Mode::kNoAnswers);
  EXPECT_EQ(CodeOf(kv::ApplyAndWait(*engine, AddOne("another"))), ErrorCode::kOutcomeUnknown);
  EXPECT_FALSE(engine->Health().ok());
  network.Set(Network::Mode::kWhole);
  while (!kv::ApplyAndWait(*engine, AddOne("another", 10)).ok()) {
  }
  EXPECT_TRUE(engine->Health().ok());
  EXPECT_TRUE(CountOf(*engine, "another") % 10 <= 1) << "once or not at all";

  // Writers in any state; perhaps all are about to read, and none writes before the end.
  std::atomic<bool> stop = false;
  std::atomic<int64_t> unknown = 0, acknowledged = 0;
  std::thread writers([&] {
    acknowledged = Increment(
        {engine.get()}, 3, [&](int64_t) { return !stop; }, &unknown);
  });
  Sleep(300);
  network.Set(Network::Mode::kNoAnswers);
  const ErrorCode code = CodeOf(kv::ApplyAndWait(*engine, AddOne("another")));
  EXPECT_TRUE(code == ErrorCode::kOutcomeUnknown || code == ErrorCode::kUnavailable);
  EXPECT_FALSE(engine->Health().ok());
  network.Set(Network::Mode::kCut);
  Sleep(300);
  network.Set(Network::Mode::kWhole);
  const auto until = For(10'000);
  while (!engine->Health().ok() && until()) Sleep(20);
  EXPECT_TRUE(engine->Health().ok()) << "ten seconds after the repair";
  Sleep(300);
  stop = true;
  writers.join();
  EXPECT_GT(acknowledged, 10);
  const int64_t number = NumberOf(*engine);
  EXPECT_GE(number, acknowledged);
  EXPECT_LE(number, acknowledged + unknown);
  EXPECT_EQ(CountOf(*engine, "count"), number) << "both are of one batch";
}

// Reads of tablets that this process has not opened yet share few threads: they must not wait one
// after the other until the network is back.
TEST(RadosNetwork, ReadsOfCutOffProcessDoNotWaitForEachOther) {
  constexpr uint32_t kTablets = 10;
  RadosOptions options = Impatient();
  const auto tablet = [](uint32_t i) { return kv::Tablet{kv::Space::kItems, 100 + i}; };
  {
    const auto direct = Open(options);
    ASSERT_TRUE(direct);
    for (uint32_t i = 0; i < kTablets; ++i) {
      kv::Batch batch;
      batch.puts.push_back({tablet(i), "key", std::string(kv::kStampBytes, '\0') + "value"});
      ASSERT_TRUE(kv::ApplyAndWait(*direct, std::move(batch)).ok());
    }
  }
  options.deadline_seconds = 2;
  Network network;
  const auto engine = Open(options);
  ASSERT_TRUE(engine);
  network.Set(Network::Mode::kNoAnswers);
  std::atomic<uint32_t> refused = 0, answered = 0;
  const auto in_time =
      For(2 * 1000 * (options.deadline_seconds + options.operation_timeout_seconds));
  for (uint32_t i = 0; i < kTablets; ++i) {
    engine->GetLater(tablet(i), "key", [&](Result<std::optional<std::string>> value) {
      refused += !value.ok() && value.error().code() == ErrorCode::kUnavailable ? 1 : 0;
      ++answered;
    });
  }
  while (answered < kTablets && in_time()) Sleep(20);
  EXPECT_EQ(answered, kTablets);
  EXPECT_EQ(refused, answered);
  network.Set(Network::Mode::kWhole);
  while (answered < kTablets) Sleep(20);
}

// The OSDs forget the watch of a process that is silent for too long, for instance frozen. It
// receives messages again once it is back.
TEST(RadosNetwork, ForgottenWatchIsSetUpAgain) {
  RadosOptions options = Impatient();
  options.watch_timeout_seconds = 2;
  const auto direct = Open(options);
  ASSERT_TRUE(direct);
  direct->bulletin()->Listen([](std::string_view, UniqueFunction<void()> acknowledge) {
    acknowledge();
  });  // connects to its OSD
  Network network;
  const auto behind = Open(options);
  ASSERT_TRUE(behind);
  std::atomic<int> heard = 0;
  behind->bulletin()->Listen([&](std::string_view, UniqueFunction<void()> acknowledge) {
    ++heard;
    acknowledge();
  });
  ASSERT_TRUE(direct->bulletin()->Announce("before").ok());
  EXPECT_EQ(heard, 1);
  network.Set(Network::Mode::kHeld);
  while (!direct->bulletin()->Announce("when it is forgotten").ok()) {
  }
  EXPECT_EQ(heard, 1);
  network.Set(Network::Mode::kWhole);
  while (behind->Statistics()["kv_rados_watches_lost"] == 0) Sleep(10);
  const int before = heard;
  while (heard == before) EXPECT_TRUE(direct->bulletin()->Announce("after").ok());
  EXPECT_TRUE(behind->bulletin()->Announce("it speaks, too").ok());
}

// Without a monitor everything goes on.
TEST(RadosNetwork, WritesContinueWithoutMonitor) {
  const RadosOptions options = Impatient();
  const auto first = Open(options), second = Open(options);
  ASSERT_TRUE(first && second);
  ASSERT_TRUE(kv::ApplyAndWait(*first, AddOne("count", 0)).ok() &&
              kv::ApplyAndWait(*second, AddOne("count", 0)).ok());
  std::atomic<bool> stop = false;
  std::atomic<int64_t> unknown = 0, acknowledged = 0;
  std::thread writers([&] {
    acknowledged = Increment(
        {first.get(), second.get()}, 2, [&](int64_t) { return !stop; }, &unknown);
  });
  const auto groups = [&] {
    return first->Statistics()["kv_commit_groups"] + second->Statistics()["kv_commit_groups"];
  };
  ClusterUnderTest::Command("kill-mon");
  double before = groups();
  for (int second_without = 0; second_without < 4; ++second_without) {
    Sleep(1000);
    EXPECT_GT(groups(), before) << "writes go on without it";
    EXPECT_GE(NumberOf(*first), 0) << "reads too";
    before = groups();
  }
  EXPECT_TRUE(first->Health().ok());

  ClusterUnderTest::Command("start-mon");
  before = groups();
  const auto until = For(10'000);
  while (groups() < before + 5 && until()) Sleep(20);
  EXPECT_GE(groups(), before + 5) << "nor when it is back";
  stop = true;
  writers.join();
  ClusterUnderTest::Command("wait-clean");
  EXPECT_EQ(unknown, 0);
  EXPECT_EQ(NumberOf(*first), acknowledged);
  EXPECT_EQ(CountOf(*second, "count"), acknowledged);
}

}  // namespace
}  // namespace stator

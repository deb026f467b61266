#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/byte_buffer.h"
#include "base/clock.h"
#include "base/executor.h"
#include "base/log.h"
#include "base/percent_code.h"
#include "base/random.h"
#include "base/result.h"
#include "base/unique_function.h"

namespace stator {
namespace {

TEST(ByteBuffer, KeepsBytesWhileItGrows) {
  ByteBuffer buffer;
  EXPECT_EQ(buffer.view(), "");
  std::string expected;
  for (int i = 0; i < 300; ++i) {
    const std::string piece(static_cast<size_t>(i % 7), static_cast<char>('a' + i % 26));
    buffer.Append(piece);
    char* const p = buffer.MakeRoom(100);
    ASSERT_GE(buffer.limit() - p, 100);
    *p = '!';  // only one byte of the room is used
    buffer.SetEnd(p + 1);
    expected += piece + "!";
    ASSERT_EQ(buffer.view(), expected);
  }
  const size_t capacity = buffer.capacity();
  ByteBuffer moved = std::move(buffer);
  EXPECT_EQ(moved.view(), expected);
  EXPECT_EQ(buffer.view(),
            "");  // NOLINT(bugprone-use-after-move): a moved-from buffer is empty and may be used
  buffer.Append("again");
  EXPECT_EQ(buffer.view(), "again");
  moved.Clear();
  EXPECT_EQ(moved.size(), 0u);
  EXPECT_EQ(moved.capacity(), capacity);
  moved.Reserve(1);
  EXPECT_EQ(moved.capacity(), capacity);
}

TEST(UniqueFunction, OwnsMoveOnlyThingsAndFreesThem) {
  auto witness = std::make_shared<int>(5);
  auto owned = std::make_unique<std::shared_ptr<int>>(witness);
  UniqueFunction<int(int)> f = [owned = std::move(owned)](int x) { return **owned + x; };
  ASSERT_TRUE(static_cast<bool>(f));
  EXPECT_EQ(f(1), 6);
  EXPECT_EQ(f(2), 7) << "may be called again";
  UniqueFunction<int(int)> g = std::move(f);
  EXPECT_FALSE(static_cast<bool>(f));
  EXPECT_EQ(witness.use_count(), 2);
  g = nullptr;
  EXPECT_EQ(witness.use_count(), 1);
  EXPECT_FALSE(static_cast<bool>(UniqueFunction<void()>()));
}

TEST(UniqueFunction, PassesReferencesAndMoveOnlyArguments) {
  UniqueFunction<void(std::unique_ptr<int>, int&)> f = [](std::unique_ptr<int> value, int& out) {
    out = *value;
  };
  int out = 0;
  f(std::make_unique<int>(9), out);
  EXPECT_EQ(out, 9);
  int calls = 0;
  auto counter = [&calls] { return ++calls; };
  FunctionRef<int()> ref = counter;
  EXPECT_EQ(ref(), 1);
  EXPECT_EQ(ref(), 2);
}

// A continuation may drop the last reference to itself while it runs.
TEST(UniqueFunction, MayReplaceItsHolderWhileItRuns) {
  auto holder = std::make_shared<UniqueFunction<void()>>();
  bool ran = false;
  *holder = [&ran, &holder] {
    UniqueFunction<void()> self = std::move(*holder);
    holder.reset();
    ran = true;
  };
  (*holder)();
  EXPECT_TRUE(ran);
}

Result<int> Half(int n) {
  if (n % 2 != 0) return ValidationError("odd");
  return n / 2;
}
Result<int> Quarter(int n) {
  ASSIGN_OR_RETURN(const int half, Half(n));
  TRY(Half(half));
  return half / 2;
}

TEST(Result, MacrosPassErrorsOn) {
  EXPECT_EQ(Quarter(8).value(), 2);
  EXPECT_EQ(Quarter(6).error().message(), "odd");
  EXPECT_EQ(Quarter(5).error().code(), ErrorCode::kValidation);
  EXPECT_TRUE(OkStatus().ok());
  std::set<std::string_view> names;
  for (int code = 0; code <= static_cast<int>(ErrorCode::kCorruption); ++code) {
    EXPECT_TRUE(names.insert(ErrorCodeName(static_cast<ErrorCode>(code))).second) << code;
  }
  EXPECT_FALSE(names.contains("?"));
}

class CountingExecutor final : public Executor {
 public:
  void Post(UniqueFunction<void()>) override {
    if (!WakeUps::PutOff(this)) WakeUp();
  }
  void WakeUp() override { log += 'w'; }
  void StandIn() override { log += 's'; }
  std::string log;
};

TEST(WakeUps, ComeOnceAtTheEnd) {
  CountingExecutor first, second;
  first.Post([] {});
  EXPECT_EQ(first.log, "w");
  {
    const WakeUps once;
    first.Post([] {});
    first.Post([] {});
    second.Post([] {});
    EXPECT_EQ(first.log, "w");
  }
  EXPECT_EQ(first.log, "ww");
  EXPECT_EQ(second.log, "w");
}

TEST(WakeUps, StandInRunsAtEndOfScope) {
  CountingExecutor executor;
  {
    const WakeUps at_once(WakeUps::Way::kStandIn);
    {
      const WakeUps inner;
      executor.Post([] {});
    }
    PostAndStandIn(executor, [] {});
    EXPECT_EQ(executor.log, "");
  }
  EXPECT_EQ(executor.log, "s");
  {
    const WakeUps outer;
    PostAndStandIn(executor, [] {});
    EXPECT_EQ(executor.log, "ss") << "what is only woken is no reason to put it off";
    executor.Post([] {});
    EXPECT_EQ(executor.log, "ss");
  }
  EXPECT_EQ(executor.log, "ssw");
}

TEST(WorkerPool, RunsEveryAcceptedTask) {
  std::atomic<int> ran{0};
  int taken = 0;
  {
    WorkerPool pool(3, 50);
    for (int i = 0; i < 5000; ++i) {
      UniqueFunction<void()> task = [&ran] { ++ran; };
      const bool took = pool.TryPost(task);
      EXPECT_EQ(static_cast<bool>(task), !took) << "a refused task stays the caller's";
      taken += took;
    }
    pool.Stop();
    EXPECT_EQ(ran, taken);
    UniqueFunction<void()> late = [&ran] { ++ran; };
    EXPECT_FALSE(pool.TryPost(late));
    EXPECT_TRUE(static_cast<bool>(late));
    pool.Stop();
  }
  EXPECT_EQ(ran, taken);
  EXPECT_GT(taken, 0);
}

TEST(WorkerPool, RefusesBeyondItsBound) {
  WorkerPool pool(1, 2);
  std::mutex gate;
  gate.lock();
  std::atomic<bool> started{false};
  std::atomic<int> ran{0};
  UniqueFunction<void()> blocking = [&] {
    started = true;
    started.notify_all();
    std::lock_guard lock(gate);
    ++ran;
  };
  ASSERT_TRUE(pool.TryPost(blocking));
  started.wait(false);
  for (int i = 0; i < 2; ++i) {
    UniqueFunction<void()> task = [&ran] { ++ran; };
    EXPECT_TRUE(pool.TryPost(task));
  }
  UniqueFunction<void()> third = [&ran] { ++ran; };
  EXPECT_FALSE(pool.TryPost(third));
  gate.unlock();
  pool.Stop();
  EXPECT_EQ(ran, 3);
}

// One task at a time: hardly more than two threads take turns. (The next task may come before the
// thread of the last one sleeps.)
TEST(WorkerPool, WakesThreadThatFellAsleepLast) {
  constexpr int kThreads = 32, kTasks = 10'000;
  WorkerPool pool(kThreads, 10);
  std::map<std::thread::id, int> ran;
  for (int i = 0; i < kTasks; ++i) {
    std::atomic<bool> done{false};
    UniqueFunction<void()> task = [&] {
      ++ran[std::this_thread::get_id()];
      done = true;
      done.notify_one();
    };
    ASSERT_TRUE(pool.TryPost(task));
    done.wait(false);
  }
  pool.Stop();
  std::vector<int> counts;
  for (const auto& [thread, count] : ran) counts.push_back(count);
  std::sort(counts.rbegin(), counts.rend());
  counts.resize(kThreads);
  EXPECT_GT(counts[0] + counts[1] + counts[2], kTasks / 2) << "in turns it would be a tenth";
}

TEST(WorkerPool, StopsWhileOthersPost) {
  for (int round = 0; round < 50; ++round) {
    WorkerPool pool(2, 1000);
    std::atomic<int> ran{0}, taken{0};
    std::thread poster([&] {
      for (int i = 0; i < 200; ++i) {
        UniqueFunction<void()> task = [&ran] { ++ran; };
        if (pool.TryPost(task)) ++taken;
      }
    });
    pool.Stop();
    poster.join();
    EXPECT_EQ(ran, taken);
  }
}

std::string Logged(std::initializer_list<LogField> fields) {
  testing::internal::CaptureStderr();
  LogInfo("event", fields);
  std::string line = testing::internal::GetCapturedStderr();
  const size_t from = line.find("event");
  return from == std::string::npos ? line : line.substr(from);
}

TEST(Log, QuotesValuesThatWouldBreakALine) {
  EXPECT_EQ(Logged({}), "event\n");
  EXPECT_EQ(Logged({{"n", 7}, {"host", "127.0.0.1:8000"}}), "event n=7 host=127.0.0.1:8000\n");
  EXPECT_EQ(Logged({{"e", ""}}), "event e=\"\"\n");
  EXPECT_EQ(Logged({{"t", "two words"}}), "event t=\"two words\"\n");
  EXPECT_EQ(Logged({{"t", "a\"b\\c"}}), "event t=\"a\\\"b\\\\c\"\n");
  EXPECT_EQ(Logged({{"t", "x\ninjected event=1\r"}}), "event t=\"x\\ninjected event=1\\r\"\n");
  EXPECT_EQ(Logged({{"t", "k=v"}}), "event t=\"k=v\"\n");
  EXPECT_EQ(Logged({{"t", "{} %s {0}"}}), "event t=\"{} %s {0}\"\n")
      << "values are no format strings";
}

// Names come from clients: an escape sequence in a name must not reach the terminal of a log's
// reader.
TEST(Log, ControlCharactersAreEscaped) {
  EXPECT_EQ(Logged({{"t", "\x1b[2Jgone"}}), "event t=\"\\x1b[2Jgone\"\n");
  EXPECT_EQ(Logged({{"t", std::string("a\0b", 3)}}), "event t=\"a\\x00b\"\n");
  EXPECT_EQ(Logged({{"t", "tab\there\x7f"}}), "event t=\"tab\\there\\x7f\"\n");
  EXPECT_EQ(Logged({{"t", "\xc3\xa9"}}), "event t=\xc3\xa9\n");
}

TEST(Log, LevelsSwitch) {
  testing::internal::CaptureStderr();
  SetLogLevel(LogLevel::kWarn);
  LogInfo("quiet");
  LogWarn("loud");
  SetLogLevel(LogLevel::kOff);
  LogError("off");
  SetLogLevel(LogLevel::kInfo);
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(text.find("quiet"), std::string::npos);
  EXPECT_NE(text.find("loud"), std::string::npos);
  EXPECT_EQ(text.find("off"), std::string::npos);
}

TEST(Random, RepeatsFromItsSeed) {
  SeededRandom a(1), b(1), c(2);
  bool differs = false;
  for (int i = 0; i < 100; ++i) {
    const uint64_t value = a.Next();
    EXPECT_EQ(value, b.Next());
    differs |= value != c.Next();
    EXPECT_LT(a.Below(7), 7u);
    b.Below(7);
    const double unit = a.Unit();
    EXPECT_TRUE(unit >= 0 && unit < 1);
    b.Unit();
  }
  EXPECT_TRUE(differs);
  EXPECT_EQ(a.Below(0), 0u);
}

TEST(ManualClock, StandsStillUntilAdvanced) {
  ManualClock clock(1'000'000);
  EXPECT_EQ(clock.NowMicros(), 1'000'000);
  clock.AdvanceMicros(500'000);
  EXPECT_EQ(clock.TicksMicros(), 1'500'000);
  EXPECT_DOUBLE_EQ(clock.NowSeconds(), 1.5);
}

TEST(PercentDecode, ReplacesWholeEscapesOnly) {
  EXPECT_EQ(PercentDecode("a%2Fb%2f", PlusSign::kPlus), "a/b/");
  EXPECT_EQ(PercentDecode("%41", PlusSign::kPlus), "A");
  EXPECT_EQ(PercentDecode("100%", PlusSign::kPlus), "100%");
  EXPECT_EQ(PercentDecode("%4", PlusSign::kPlus), "%4");
  EXPECT_EQ(PercentDecode("%zz%4g", PlusSign::kPlus), "%zz%4g");
  EXPECT_EQ(PercentDecode("%252F", PlusSign::kPlus), "%2F");
  EXPECT_EQ(PercentDecode("a+b", PlusSign::kPlus), "a+b");
  EXPECT_EQ(PercentDecode("a+b%2B", PlusSign::kSpace), "a b+");
}

}  // namespace
}  // namespace stator

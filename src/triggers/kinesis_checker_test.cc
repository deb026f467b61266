#include "triggers/kinesis_checker.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/error.h"
#include "base/mutex_wait.h"

namespace stator::triggers {
namespace {

// An endpoint that answers one question after the other, each when it is let go.
class Endpoint {
 public:
  Status Check(const std::string& arn) {
    UniqueMutexLock lock(mutex_);
    asked_.push_back(arn);
    wake_.notify_all();
    wake_.wait(lock, [this]() REQUIRES(mutex_) { return answers_ > 0 || cancelled_; });
    if (cancelled_) return Error(ErrorCode::kUnavailable, "cancelled");
    --answers_;
    return OkStatus();
  }
  void Answer() {
    const MutexLock lock(mutex_);
    ++answers_;
    wake_.notify_all();
  }
  void Cancel() {
    const MutexLock lock(mutex_);
    cancelled_ = true;
    wake_.notify_all();
  }
  std::vector<std::string> AwaitQuestions(size_t count) {
    UniqueMutexLock lock(mutex_);
    wake_.wait(lock, [this, count]() REQUIRES(mutex_) { return asked_.size() >= count; });
    return asked_;
  }

 private:
  Mutex mutex_;
  std::condition_variable_any wake_;
  std::vector<std::string> asked_ GUARDED_BY(mutex_);
  int answers_ GUARDED_BY(mutex_) = 0;
  bool cancelled_ GUARDED_BY(mutex_) = false;
};

struct KinesisCheckerTest : testing::Test {
  KinesisCheckerTest()
      : checker([this](const std::string& arn) { return endpoint.Check(arn); },
                [this] { endpoint.Cancel(); }) {
    checker.Start();
  }
  Status Await(const std::string& id) {
    while (true) {
      if (std::optional<Status> outcome = checker.Take(id)) return *outcome;
      std::this_thread::yield();
    }
  }
  Endpoint endpoint;
  KinesisChecker checker;
};

TEST_F(KinesisCheckerTest, AnswersOnce) {
  EXPECT_FALSE(checker.Take("a"));
  checker.Ask("a", "arn a");
  checker.Ask("a", "arn a");
  endpoint.Answer();
  EXPECT_TRUE(Await("a").ok());
  EXPECT_FALSE(checker.Take("a"));
  EXPECT_EQ(endpoint.AwaitQuestions(1), std::vector<std::string>{"arn a"});
}

TEST_F(KinesisCheckerTest, NewStreamsComeBeforeThoseThatWereLookedFor) {
  for (const char* id : {"a", "b"}) checker.Ask(id, id);
  endpoint.AwaitQuestions(1);
  endpoint.Answer();
  (void)Await("a").ok();
  endpoint.AwaitQuestions(2);  // b hangs
  checker.Ask("a", "a again");
  checker.Ask("c", "c");
  endpoint.Answer();
  (void)Await("b").ok();
  const std::vector<std::string> order = {"a", "b", "c", "a again"};
  endpoint.Answer();
  endpoint.Answer();
  EXPECT_EQ(endpoint.AwaitQuestions(4), order);
}

TEST_F(KinesisCheckerTest, ForgetsWhatIsNotKept) {
  checker.Ask("a", "a");
  endpoint.AwaitQuestions(1);
  checker.Ask("b", "b");
  checker.Keep({"c"});
  checker.Ask("c", "c");
  endpoint.Answer();
  endpoint.Answer();
  EXPECT_TRUE(Await("c").ok());
  EXPECT_FALSE(checker.Take("a"));
  EXPECT_EQ(endpoint.AwaitQuestions(2), (std::vector<std::string>{"a", "c"}));
}

TEST_F(KinesisCheckerTest, StopsWhileTheEndpointHangs) {
  checker.Ask("a", "a");
  endpoint.AwaitQuestions(1);
  checker.Stop();
}

}  // namespace
}  // namespace stator::triggers

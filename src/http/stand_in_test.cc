// Threads that bring a reply and run the loop's tasks while it sleeps.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "http/test_client.h"

namespace stator::http {
namespace {

// Runs it as a task of the loop's, by this thread if that can stand in; true if it did.
template <typename F>
bool RunByMe(Executor& loop, F task) {
  std::promise<std::thread::id> ran;
  PostAndStandIn(loop, [&] {
    EXPECT_TRUE(loop.IsCurrent());
    task();
    ran.set_value(std::this_thread::get_id());
  });
  return ran.get_future().get() == std::this_thread::get_id();
}

class StandInTest : public testing::Test {
 protected:
  void Start(ServerOptions options = {}) {
    server_ = Serve(std::move(options), clock_, [this](Executor& loop) -> Handler {
      loops_.push_back(&loop);
      return [this](std::unique_ptr<Exchange> exchange) {
        MutexLock lock(mutex_);
        held_.push_back(std::move(exchange));
      };
    });
  }
  std::unique_ptr<Exchange> TakeHeld() {
    std::unique_ptr<Exchange> taken;
    EXPECT_TRUE(Eventually([&] {
      MutexLock lock(mutex_);
      if (held_.empty()) return false;
      taken = std::move(held_.back());
      held_.pop_back();
      return true;
    }));
    return taken;
  }
  // Until something comes from a client it goes on sleeping.
  static bool FallsAsleep(Executor& loop) {
    return Eventually([&loop] { return RunByMe(loop, [] {}); });
  }
  // The exchange ends with the task.
  static bool AnswerMyself(std::unique_ptr<Exchange> exchange, bool close = false) {
    Executor& loop = exchange->loop();
    return RunByMe(loop, [&exchange, close] {
      const std::unique_ptr<Exchange> own = std::move(exchange);
      Reply reply;
      reply.body = "for " + std::string(own->request().body);
      reply.close = close;
      own->Send(std::move(reply));
    });
  }

  SystemClock clock_;
  Mutex mutex_;
  std::vector<std::unique_ptr<Exchange>> held_ GUARDED_BY(mutex_);
  std::vector<Executor*> loops_;
  std::unique_ptr<Server> server_;
};

TEST_F(StandInTest, WhoBringsAReplySendsItWhileTheLoopSleeps) {
  Start();
  TestClient client(server_->port());
  for (int i = 0; i < 10; ++i) {
    client.Send(Post(std::to_string(i)));
    std::unique_ptr<Exchange> exchange = TakeHeld();
    ASSERT_TRUE(FallsAsleep(*loops_[0]));
    EXPECT_TRUE(AnswerMyself(std::move(exchange)));
    EXPECT_FALSE(loops_[0]->IsCurrent());
    EXPECT_EQ(client.Read().body, "for " + std::to_string(i));
  }
  client.Close();
  EXPECT_TRUE(Eventually([&] { return server_->connections() == 0; }));
}

TEST_F(StandInTest, SeveralTasksAreLeftToTheLoop) {
  Start();
  ASSERT_TRUE(FallsAsleep(*loops_[0]));
  std::promise<std::thread::id> first, second;
  {
    const WakeUps at_once(WakeUps::Way::kStandIn);
    loops_[0]->Post([&] { first.set_value(std::this_thread::get_id()); });
    loops_[0]->Post([&] { second.set_value(std::this_thread::get_id()); });
  }
  const std::thread::id loop = first.get_future().get();
  EXPECT_NE(loop, std::this_thread::get_id());
  EXPECT_EQ(second.get_future().get(), loop);
}

TEST_F(StandInTest, ALoopDoesNotStandInForAnother) {
  ServerOptions options;
  options.threads = 2;
  Start(options);
  ASSERT_TRUE(FallsAsleep(*loops_[1]));
  std::promise<std::pair<std::thread::id, std::thread::id>> ran;
  loops_[0]->Post([&] {
    PostAndStandIn(*loops_[1], [&ran, first = std::this_thread::get_id()] {
      ran.set_value({first, std::this_thread::get_id()});
    });
  });
  const auto [first, second] = ran.get_future().get();
  EXPECT_NE(first, second);
  EXPECT_NE(second, std::this_thread::get_id());
}

TEST_F(StandInTest, ADeadlineThatBeganMeanwhileWakesTheLoop) {
  ServerOptions options;
  options.header_timeout_micros = 1'000'000;
  Start(options);
  TestClient client(server_->port());
  client.Send(Post("a") + "POST / HT");
  std::unique_ptr<Exchange> exchange = TakeHeld();
  ASSERT_TRUE(FallsAsleep(*loops_[0]));
  EXPECT_TRUE(AnswerMyself(std::move(exchange)));
  EXPECT_EQ(client.Read().body, "for a");
  EXPECT_EQ(client.Read().status, 408);
}

TEST_F(StandInTest, APipelinedRequestIsHandedOutByWhoStandsIn) {
  Start();
  TestClient client(server_->port());
  client.Send(Post("a") + Post("b"));
  std::unique_ptr<Exchange> exchange = TakeHeld();
  ASSERT_TRUE(FallsAsleep(*loops_[0]));
  EXPECT_TRUE(AnswerMyself(std::move(exchange)));
  {
    MutexLock lock(mutex_);
    EXPECT_EQ(held_.size(), 1u);
  }
  AnswerMyself(TakeHeld());
  EXPECT_EQ(client.Read().body, "for a");
  EXPECT_EQ(client.Read().body, "for b");
}

TEST_F(StandInTest, WhatItClosesIsFreedAndADrainEnds) {
  Start();
  TestClient client(server_->port());
  client.Send(Post("a"));
  std::unique_ptr<Exchange> exchange = TakeHeld();
  auto drained = std::async(std::launch::async, [this] { server_->Drain(60'000'000); });
  // It no longer accepts, so the drain has begun.
  ASSERT_TRUE(Eventually([&] { return !TestClient(server_->port()).connected(); }));
  ASSERT_TRUE(FallsAsleep(*loops_[0]));
  AnswerMyself(std::move(exchange));
  EXPECT_EQ(client.Read().body, "for a");
  EXPECT_TRUE(client.ReadEnd());
  EXPECT_EQ(drained.wait_for(std::chrono::seconds(30)), std::future_status::ready);
}

TEST_F(StandInTest, ManyBringRepliesWhileClientsComeAndGo) {
  ServerOptions options;
  options.threads = 2;
  Start(options);
  std::atomic<bool> stop{false};
  std::atomic<int> by_me{0};
  std::vector<std::thread> bringers;
  for (int i = 0; i < 3; ++i) {
    bringers.emplace_back([&] {
      while (!stop.load()) {
        std::unique_ptr<Exchange> exchange;
        {
          MutexLock lock(mutex_);
          if (!held_.empty()) {
            exchange = std::move(held_.back());
            held_.pop_back();
          }
        }
        if (exchange == nullptr) {
          std::this_thread::yield();
        } else {
          const bool close = exchange->request().body.size() % 7 == 0;
          if (AnswerMyself(std::move(exchange), close)) ++by_me;
        }
      }
    });
  }
  std::vector<std::thread> clients;
  for (int i = 0; i < 6; ++i) {
    clients.emplace_back([&, i] {
      for (int round = 0; round < 100; ++round) {
        TestClient client(server_->port());
        const std::string body(static_cast<size_t>(round % 20 + 1), static_cast<char>('a' + i));
        client.Send(Post(body));
        if (round % 5 == i % 5) {
          client.Reset();
          continue;
        }
        ASSERT_EQ(client.Read().body, "for " + body);
        if (body.size() % 7 == 0) {
          EXPECT_TRUE(client.ReadEnd());
        } else {
          EXPECT_EQ(client.Ask(Post("again")).body, "for again");
        }
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_TRUE(Eventually([&] { return server_->connections() == 0; }));
  stop = true;
  for (std::thread& bringer : bringers) bringer.join();
  EXPECT_GT(by_me.load(), 0);
}

}  // namespace
}  // namespace stator::http

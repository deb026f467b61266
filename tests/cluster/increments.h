// Load for the engine's tests, and the checks of its outcome.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cluster_under_test.h"
#include "kv/engine.h"
#include "kv_rados/rados_engine.h"

namespace stator {

inline constexpr kv::Tablet kTablet{kv::Space::kItems, 7};
inline constexpr char kObject[] = "items.00000007.0";

inline std::unique_ptr<kv::Engine> Open(const kv_rados::RadosOptions& options) {
  Result<std::unique_ptr<kv::Engine>> engine = kv_rados::OpenRados(options);
  if (!engine.ok()) {
    ADD_FAILURE() << engine.error().message();
    return nullptr;
  }
  return std::move(*engine);
}

inline kv::Batch PutOne(std::string key, std::string_view text) {
  kv::Batch batch;
  batch.puts.push_back({kTablet, std::move(key), std::string(kv::kStampBytes, '\0').append(text)});
  return batch;
}

inline kv::Batch AddOne(std::string key, int64_t delta = 1) {
  kv::Batch batch;
  batch.adds.push_back({kTablet, std::move(key), delta});
  return batch;
}

// Returns -1 if there is no number, -2 if it cannot be read.
inline int64_t CountOf(kv::Engine& engine, std::string_view key) {
  std::string value;
  const Result<bool> exists = engine.Get(kTablet, key, kv::Tier::kAny, &value);
  if (!exists.ok()) return -2;
  if (!*exists) return -1;
  const Result<int64_t> count = kv::CounterOf(value);
  return count.ok() ? *count : -2;
}

inline ErrorCode CodeOf(const Result<uint64_t>& outcome) {
  return outcome.ok() ? ErrorCode::kInternal : outcome.error().code();
}

inline std::function<bool()> For(int milliseconds) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
  return [until] { return std::chrono::steady_clock::now() < until; };
}

// How long a test waits for a state that a busy machine reaches late.
inline constexpr int kPatienceMilliseconds = 60'000;

// Whether to go on, by the number of acknowledged increments so far.
using GoOn = std::function<bool(int64_t acknowledged)>;

// Goes on for `milliseconds`, and then until there are `least` increments and `seen` says that what
// the test wants to see has happened.
inline GoOn Until(
    int milliseconds, int64_t least, std::function<bool()> seen = [] { return true; }) {
  return [during = For(milliseconds), patience = For(kPatienceMilliseconds), least,
          seen = std::move(seen)](int64_t acknowledged) {
    return during() || ((acknowledged < least || !seen()) && patience());
  };
}

// Runs `threads` threads on the engines while `go_on`, which increment "number" under guards and
// add to "count". Returns the number of acknowledged increments and counts unknown outcomes in
// *unknown; any other failure fails the test. With `guarded`, cached values are not read again.
inline int64_t Increment(const std::vector<kv::Engine*>& engines, int threads, const GoOn& go_on,
                         std::atomic<int64_t>* unknown, bool guarded = false) {
  std::atomic<int64_t> acknowledged = 0;
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      kv::Engine& engine = *engines[static_cast<size_t>(t) % engines.size()];
      while (go_on(acknowledged)) {
        std::string value;
        Result<bool> exists = Error(ErrorCode::kWouldBlock, {});
        if (guarded) exists = engine.Get(kTablet, "number", kv::Tier::kGuarded, &value);
        if (!exists.ok() && exists.error().code() == ErrorCode::kWouldBlock) {
          exists = engine.Get(kTablet, "number", kv::Tier::kAny, &value);
        }
        if (!exists.ok()) {
          EXPECT_EQ(exists.error().code(), ErrorCode::kUnavailable) << exists.error().message();
          continue;
        }
        const int64_t number = *exists ? std::stoll(value.substr(kv::kStampBytes)) : 0;
        kv::Batch batch = PutOne("number", std::to_string(number + 1));
        batch.guards.push_back({kTablet, "number", *exists ? kv::StampOf(value) : 0});
        batch.adds = AddOne("count").adds;
        const Result<uint64_t> outcome = kv::ApplyAndWait(engine, std::move(batch));
        if (outcome.ok()) {
          ++acknowledged;
        } else if (outcome.error().code() == ErrorCode::kOutcomeUnknown) {
          ++*unknown;
        } else if (outcome.error().code() != ErrorCode::kGuardFailed &&
                   outcome.error().code() != ErrorCode::kUnavailable) {
          ADD_FAILURE() << outcome.error().message();
          return;
        }
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  return acknowledged;
}

inline int64_t NumberOf(kv::Engine& engine) {
  std::string value;
  const Result<bool> exists = engine.Get(kTablet, "number", kv::Tier::kAny, &value);
  return exists.ok() && *exists ? std::stoll(value.substr(kv::kStampBytes)) : -1;
}

// Applies a batch that may be applied twice until that succeeds: an engine that gives up early is
// refused now and then on a busy machine, or while the cluster recovers from the test before.
inline bool ApplyPatiently(kv::Engine& engine, const kv::Batch& batch) {
  for (const auto patience = For(kPatienceMilliseconds); patience();) {
    if (kv::ApplyAndWait(engine, batch).ok()) return true;
  }
  return false;
}

// Waits until `condition`, and returns whether it came to that.
inline bool Await(const std::function<bool()>& condition) {
  for (const auto patience = For(kPatienceMilliseconds); !condition();) {
    if (!patience()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

// Gives an operation up after a second.
inline kv_rados::RadosOptions Impatient() {
  kv_rados::RadosOptions options = ClusterUnderTest::NewStore();
  options.operation_timeout_seconds = 1;
  return options;
}

// Runs the command line client on the objects of a store.
inline std::string RadosCommand(const kv_rados::RadosOptions& options) {
  return "rados -n client.admin -p " + options.pool + " -N " + options.name_space + " ";
}

// Returns the number of the OSD that serves an object.
inline std::string PrimaryOf(const kv_rados::RadosOptions& options,
                             const std::string& object = kObject) {
  const std::string place = ClusterUnderTest::Command("ceph osd map stator " + object + " " +
                                                      options.name_space + " -f json");
  const std::string name = "\"acting_primary\":";
  const size_t primary = place.find(name);
  if (primary == std::string::npos) {
    ADD_FAILURE() << place;
    return "0";
  }
  return std::string(1, place[primary + name.size()]);
}

}  // namespace stator

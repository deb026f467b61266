// Tumbling windows of a lane: how far they are, and what a function is told of one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace stator::triggers {

// [D] The most bytes of a state.
inline constexpr size_t kMostStateBytes = 1 << 20;
// The time after the end of a window until which the lane waits for late changes: the window is
// closed when all changes made until then were seen. [A] The service waits for up to two minutes.
inline constexpr int64_t kLateMicros = 2'000'000;

struct OpenWindow {
  int64_t start_micros = 0;
  int64_t end_micros = 0;
  std::shared_ptr<const std::string> state;  // a JSON object; null: none was returned yet

  bool operator==(const OpenWindow&) const = default;
};

// Copies share the state.
struct Tumbling {
  std::optional<OpenWindow> open;
  int64_t ended_micros = 0;  // end of the last window that was closed; 0: there was none

  bool operator==(const Tumbling&) const = default;
};

// Returns the window for a change that was made at `created_micros`. Windows begin at multiples of
// `length_micros` since 1970. `ended_micros` is the end of the last closed window: a change that is
// older belongs to the next window.
OpenWindow OpenFor(int64_t created_micros, int64_t length_micros, int64_t ended_micros);

// The window of an event as the function sees it.
struct WindowCall {
  OpenWindow window;
  bool final_call = false;
  bool early = false;
  std::string stream_arn;

  // Returns the members behind the changes of an event, "]" and "}" included.
  std::string TailOf(std::string_view shard_id) const;
};

}  // namespace stator::triggers

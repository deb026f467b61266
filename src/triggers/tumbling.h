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
// A window is over when all changes are seen that were made until this time after its end. [A] The
// service waits for up to two minutes.
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

// Opens the window of a change that was made at `created_micros`. Windows of `length_micros` begin
// at multiples of it since 1970. A change that comes after its window was closed is in the next.
OpenWindow OpenFor(int64_t created_micros, int64_t length_micros, int64_t ended_micros);

// The window, as a call is told of it.
struct WindowCall {
  OpenWindow window;
  bool final_call = false;
  bool early = false;
  std::string stream_arn;

  // Returns the members behind the changes of an event, "]" and "}" included.
  std::string TailOf(std::string_view shard_id) const;
};

}  // namespace stator::triggers

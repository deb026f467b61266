// A lesson: scenarios that show one thing, five sentences on it, and the figures that must hold.
// `examples/lessons/NAME` has its files; the program carries them, so that it needs no folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace stator::learn {

// Figures of one scenario: of its first table, and of all of its traffic or of one stream.
struct Expectation {
  std::string scenario;
  std::optional<std::string> traffic;       // name of the stream that served to reads count
  std::optional<int64_t> partitions;        // at the start
  std::optional<int64_t> partitions_after;  // at the end
  std::optional<int64_t> served;
  std::optional<int64_t> throttled;
  std::optional<double> throttled_at_least;  // part of the requests
  std::optional<int64_t> reads;              // requests that read
  std::optional<double> read_units;          // consumed, index included
  std::optional<double> write_units;         // likewise
  std::optional<std::string> hottest;        // partition key of the table or its index
  std::optional<int64_t> suffixes;           // that the first refusal advises
};

struct Lesson {
  std::string name;  // of its folder
  std::string title;
  std::vector<std::string> says;  // five sentences
  std::string amazon;             // Amazon's guidance in short
  // Name and text of each scenario, in the order in which they are played.
  std::vector<std::pair<std::string, std::string>> scenarios;
  std::vector<Expectation> expectations;
};

// Names in the order in which a newcomer takes them.
std::vector<std::string_view> LessonNames();
// kValidation if there is no such lesson, or its files are not as they must be.
Result<Lesson> ReadLesson(std::string_view name);

// A file of examples/lessons, embedded at build time (cmake/lessons.cmake generates the array).
struct LessonFile {
  std::string_view path;  // "hot-date/lesson.toml"
  std::string_view text;
};
extern const LessonFile kLessonFiles[];
extern const size_t kLessonFileCount;

}  // namespace stator::learn

// Checks of the values of options, for options that several commands have. Internal to the files
// that declare options.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <limits>
#include <string>
#include <string_view>

namespace stator::server {

// CLI11 takes -5 for a large number, and says nothing of a range when one is too large.
template <typename Number>
CLI::Validator WholeNumber() {
  static constexpr Number kMost = std::numeric_limits<Number>::max();
  return CLI::Validator(
      [](const std::string& text) {
        Number number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        const bool whole = error == std::errc() && end == text.data() + text.size();
        return whole ? std::string()
                     : fmt::format("{} is not a whole number from 0 to {}", text, kMost);
      },
      fmt::format("0 - {}", kMost));
}

// Returns a check that a text has only the characters `allowed` and between `least` and `most` of
// them. `what` is its name in the error.
inline CLI::Validator Characters(std::string_view allowed, size_t least, size_t most,
                                 std::string what) {
  return CLI::Validator(
      [=](const std::string& text) {
        const bool good = text.size() >= least && text.size() <= most &&
                          text.find_first_not_of(allowed) == std::string::npos;
        return good ? std::string() : fmt::format("\"{}\" is not {}", text, what);
      },
      "");
}

inline CLI::Validator ExistingFile() {
  return CLI::Validator(
      [](const std::string& text) {
        return CLI::ExistingFile(text).empty() ? std::string()
                                               : fmt::format("there is no file {}", text);
      },
      "FILE");
}

}  // namespace stator::server

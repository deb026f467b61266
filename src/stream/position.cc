#include "stream/position.h"

#include <fmt/format.h>

#include <charconv>

namespace stator::stream {
namespace {

constexpr size_t kStampDigits = 20;
constexpr size_t kIndexDigits = 5;

template <typename Int>
bool ParseDigits(std::string_view text, Int* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::string SequenceNumberOf(Position position) {
  return fmt::format("1{:020}{:05}", position.stamp, position.index);
}

std::optional<Position> ParseSequenceNumber(std::string_view text) {
  if (text.size() != 1 + kStampDigits + kIndexDigits || text[0] != '1') return std::nullopt;
  Position position;
  if (!ParseDigits(text.substr(1, kStampDigits), &position.stamp)) return std::nullopt;
  if (!ParseDigits(text.substr(1 + kStampDigits), &position.index) || position.index > kMaxIndex)
    return std::nullopt;
  return position;
}

}  // namespace stator::stream

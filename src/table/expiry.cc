#include "table/expiry.h"

#include <algorithm>
#include <cmath>

#include "table/key_encoding.h"

namespace stator::table {
namespace {

// A second that is not above the time; saturates.
int64_t SecondAtMost(const model::Number& time) {
  // One less than the floor: a double may be rounded up to the next integer.
  const double floor = std::floor(time.ToDouble()) - 1;
  if (floor >= 9e18) return INT64_MAX;
  if (floor <= -9e18) return INT64_MIN;
  return static_cast<int64_t>(floor);
}

}  // namespace

std::optional<model::Number> ExpiryOf(model::ItemView item, std::string_view attribute) {
  if (!item.exists()) return std::nullopt;
  const model::ValueView value = item.Find(attribute);
  if (value.empty() || value.type() != model::Type::kN) return std::nullopt;
  return value.number();
}

model::Number SecondsOf(int64_t micros) {
  const int64_t seconds = micros / 1'000'000;
  std::string text = std::to_string(seconds) + ".";
  const std::string fraction = std::to_string(micros % 1'000'000);
  text.append(6 - std::min<size_t>(6, fraction.size()), '0').append(fraction);
  // The time of a clock, which is behind 1970, has far fewer digits than a number may have.
  return model::Number::Parse(text).value();
}

bool IsExpired(const model::Number& time, int64_t now_micros) {
  return time < SecondsOf(now_micros) &&
         time >= SecondsOf(std::max<int64_t>(0, now_micros - kLongestExpiredSeconds * 1'000'000));
}

std::string EncodeExpiryKey(const model::Number& time, std::string_view item_key) {
  std::string key = FirstExpiryKey(time);
  key.append(item_key);
  return key;
}

Result<ExpiryEntry> DecodeExpiryKey(std::string_view key) {
  ExpiryEntry entry;
  ASSIGN_OR_RETURN(entry.time, model::Number::ReadSortable(&key));
  if (key.empty() || key.front() != kItemKind) {
    return CorruptionError("an entry of the time-to-live index names no item");
  }
  entry.item_key = key;
  return entry;
}

std::string FirstExpiryKey(const model::Number& time) {
  std::string key;
  time.AppendSortable(&key);
  return key;
}

void ExpiryMark::Added(const model::Number& time) { Lower(SecondAtMost(time)); }

int64_t ExpiryMark::Raise(int64_t seconds) {
  int64_t before = seconds_.load();
  while (before < seconds && !seconds_.compare_exchange_weak(before, seconds)) {
  }
  return before;
}

void ExpiryMark::Lower(int64_t seconds) {
  int64_t before = seconds_.load();
  while (before > seconds && !seconds_.compare_exchange_weak(before, seconds)) {
  }
}

}  // namespace stator::table
